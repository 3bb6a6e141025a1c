// Windows that slide over one to three spatial dimensions: convolutions and pools.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>

#include "base/status.hpp"
#include "tensor/attribute.hpp"
#include "tensor/shape.hpp"

namespace longshore {

/// A window over exactly three spatial dimensions (depth, rows, columns); operators with fewer have
/// leading ones of size 1.
struct Window {
  std::int64_t in[3] = {1, 1, 1}, kernel[3] = {1, 1, 1}, stride[3] = {1, 1, 1},
               dilation[3] = {1, 1, 1};
  std::int64_t begin[3] = {}, end[3] = {}, out[3] = {1, 1, 1};

  std::int64_t in_plane() const { return in[0] * in[1] * in[2]; }
  std::int64_t out_plane() const { return out[0] * out[1] * out[2]; }
  std::int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  /// How many input elements of axis `i` one output looks across.
  std::int64_t reach(int i) const { return (kernel[i] - 1) * dilation[i] + 1; }
  /// One tap, and every element once.
  bool pointwise() const {
    bool plain = taps() == 1;
    for (int i = 0; i < 3; i++)
      plain = plain && stride[i] == 1 && begin[i] == 0 && end[i] == 0 && in[i] == out[i];
    return plain;
  }
  bool operator==(const Window&) const = default;
};

/// [from, to) of an axis.
struct IndexRange {
  std::int64_t from, to;
};

constexpr std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  return a / b - (a % b < 0 ? 1 : 0);
}
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return -floor_div(-a, b); }

/// The outputs of axis `i` whose tap `k` lies inside the input.
inline IndexRange outputs_of_tap(const Window& w, int i, std::int64_t k) {
  const std::int64_t shift = w.begin[i] - k * w.dilation[i];  // input = output * stride - shift
  return {std::max<std::int64_t>(0, ceil_div(shift, w.stride[i])),
          std::min(w.out[i], floor_div(w.in[i] - 1 + shift, w.stride[i]) + 1)};
}

/// The taps of axis `i` that lie inside [0, size) for output `o`, as kernel indices.
inline IndexRange taps_of_output(const Window& w, int i, std::int64_t o, std::int64_t from,
                                 std::int64_t to) {
  const std::int64_t start = o * w.stride[i] - w.begin[i];
  return {std::clamp<std::int64_t>(ceil_div(from - start, w.dilation[i]), 0, w.kernel[i]),
          std::clamp<std::int64_t>(floor_div(to - 1 - start, w.dilation[i]) + 1, 0, w.kernel[i])};
}

/// One axis of a window from the attributes: strides, dilations, pads, auto_pad, ceil_mode.
/// `i` of `spatial` axes goes to place `slot`; in[slot] and kernel[slot] are set before.
Status window_axis(const Attributes&, int i, int spatial, int slot, bool has_in, Window&) noexcept;
/// The whole window for input dims N, C, spatial... and these kernel sizes.
Status make_window(const Attributes&, const Shape& x, std::span<const std::int64_t> kernel,
                   Window&) noexcept;
/// N, channels, spatial dims of the output.
Shape window_shape(const Shape& x, std::int64_t channels, const Window&) noexcept;

/// Dims and attributes of a convolution X [N, groups * group_in, spatial], W [groups * group_out,
/// group_in, kernel]. A pointwise window sees the plane as one row.
struct ConvShape {
  Window window;
  std::int64_t batch = 0, groups = 1, group_in = 0, group_out = 0;
  Shape out;

  std::int64_t depth() const { return group_in * window.taps(); }
  std::int64_t channels_out() const { return groups * group_out; }
  bool depthwise() const { return group_in == 1 && group_out == 1; }
};
Status conv_shape(const Attributes&, const Shape& x, const Shape& w, ConvShape&) noexcept;

}  // namespace longshore
