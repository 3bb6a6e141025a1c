#pragma once
#include "program/instruction.hpp"
#include "tensor/requantise.hpp"

namespace longshore {

namespace instructions {
extern const InstructionDef instruction_conv;
}

/// What the MAC array's drain reads per output channel: parameter blocks in SRAM are arrays of it.
/// y = requantise(accumulator + bias, {real, fixed, exponent}, ...).
struct ChannelParameters {
  std::int32_t bias = 0;
  float real = 1;
  std::int32_t fixed = 1 << 30;
  std::int32_t exponent = 1;
  bool operator==(const ChannelParameters&) const = default;
};

/// Convolution of one tile; gemm is a 1x1 kernel with height 1 and width m; a grouped convolution
/// is one instruction per group. Queue mac.
///   a(y, x, o) = start + sum over (i, j, c) of (in(y * stride_h + i * dilation_h - pad_top,
///                x * stride_w + j * dilation_w - pad_left, c) - in_zero) * w(o, i, j, c)
/// where taps outside the input tile contribute 0, start = the accumulator in SRAM if `accumulate`,
/// else 0. If `finish`: out = requantise(a + bias(o), multiplier(o), out_zero, lowest, highest,
/// rounding); otherwise a is stored into the accumulator region. Sums are int32; of 16-bit codes,
/// whose zero point is 0, int64.
/// depthwise: in_c == out_c, and w(o, i, j, c) counts for c == o only.
struct Conv {
  static constexpr const InstructionDef& def = instructions::instruction_conv;
  bool depthwise = false, accumulate = false, finish = true;
  Tile in;
  std::uint32_t in_h = 1, in_w = 1, in_c = 1;
  std::int32_t in_zero = 0;
  std::uint32_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, dilation_h = 1,
                dilation_w = 1;
  /// Virtual padding at the tile's own edges. The windows must fit:
  /// (out_h - 1) * stride_h + (kernel_h - 1) * dilation_h + 1 <= pad_top + in_h + pad_bottom.
  std::uint32_t pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;
  /// Zero point 0. w(o, i, j, c) at weights + o * weight_out_stride +
  /// (i * kernel_w + j) * weight_tap_stride + c elements. depthwise: w(c, i, j) at weights +
  /// (i * kernel_w + j) * weight_tap_stride + c elements; weight_out_stride is unused and 0.
  std::uint32_t weights = 0, weight_out_stride = 0, weight_tap_stride = 0;
  DType weight_dtype = DType::i8;
  std::uint32_t parameters = 0;               // ChannelParameters[out_c]; read if `finish`
  Tile accumulators = {0, 0, 0, DType::i32};  // read if `accumulate`, written unless `finish`
  Tile out;                                   // written if `finish`
  std::uint32_t out_h = 1, out_w = 1, out_c = 1;
  std::int32_t out_zero = 0, lowest = -128, highest = 127;
  Rounding rounding = Rounding::f32_even;
  bool operator==(const Conv&) const = default;
};

}  // namespace longshore
