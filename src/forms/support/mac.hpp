// What convolutions and matrix products share, whatever their channels do.
#pragma once
#include "forms/form.hpp"
#include "program/instructions/conv.hpp"

namespace longshore::forms {

/// Codes in and out, the latter narrowed by the fused activation.
struct MacCodes {
  Codes in, out;
};
MacCodes mac_codes(const FormNode&);
/// Bias and multiplier of each output channel.
std::vector<ChannelParameters> mac_parameters(const FormNode&);
/// The constant weights, widened.
std::vector<std::int16_t> constant_weights(const FormNode&);
/// Writes element `at` of packed weights, whose elements have `bytes` bytes.
void put_weight(std::vector<std::byte>& to, std::int64_t at, std::int64_t bytes, std::int16_t);
/// Weights with the parameters behind them, from the next multiple of 64: what a packed operand is.
std::vector<std::byte> with_parameters(std::vector<std::byte> weights,
                                       const std::vector<ChannelParameters>&);

/// The weights are a matrix: rows of features are multiplied, not images.
bool is_matrix_product(const FormNode&);
/// Images are walked channels first, rows of features last; of matrices either will do.
std::optional<AxisOrder> mac_order(const FormNode&);

/// Limits of weights, bias, activation and window.
void mac_limits(const FormNode&, const Unit&, Reasons&);
/// A window that lies in the padding alone has no input rows at all.
void window_limits(const FormNode&, Reasons&);

/// The window of one tile: kernel, strides, dilations, and how far it reaches beyond the tile.
template <class O>
void set_window(O& o, const FormNode& n, const Box& out) {
  const Window& w = n.spec.window;
  const auto u32 = [](std::int64_t v) { return static_cast<std::uint32_t>(v); };
  const Reach rows = reach_of(w, 1, out.h, n.in.h), columns = reach_of(w, 2, out.w, n.in.w);
  o.kernel_h = u32(w.kernel[1]), o.kernel_w = u32(w.kernel[2]);
  o.stride_h = u32(w.stride[1]), o.stride_w = u32(w.stride[2]);
  o.dilation_h = u32(w.dilation[1]), o.dilation_w = u32(w.dilation[2]);
  o.pad_top = u32(rows.before), o.pad_bottom = u32(rows.after);
  o.pad_left = u32(columns.before), o.pad_right = u32(columns.after);
}

/// The element types, which decide the rate.
void set_types(Conv&, const FormNode&);
/// Sets what one turn of a convolution and its depthwise kind have in common: the tile of operand
/// `data`, the window, sums, results.
void set_tile(Conv&, const FormNode&, const TileTask&, TileEmitter&, std::size_t data);

/// Parameters behind the packed weights, in one operand.
std::int64_t parameters_at(std::int64_t weight_bytes, const Machine&);

}  // namespace longshore::forms
