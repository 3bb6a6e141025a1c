// Layer and RMS normalisation of 8-bit codes, and of 16-bit codes around zero point 0. The
// reference, the CPU kernel and the simulator call these functions; docs/numbers.md states them as
// formulas. Sums are integers: their order does not matter.
#pragma once
#include <cmath>
#include <cstdint>

#include "tensor/quant.hpp"
#include "tensor/requantise.hpp"

namespace longshore {

/// Longest row: count * sum of squares stays at 2^62, where |d| is at most 2^15.
inline constexpr std::int64_t most_norm_row = 65535;

/// What is done to a row of codes, and the codes that it ends in.
struct NormCodes {
  float in_scale = 1;
  std::int32_t in_zero = 0;
  float epsilon = 0;
  bool subtract_mean = true;  // layer normalisation; else RMS
  float out_scale = 1;
  std::int32_t out_zero = 0, lowest = -128, highest = 127;
};

/// Of per-tensor quantisations, whose first scale and zero point count.
template <class Quant>
NormCodes norm_codes(const Quant& in, const Quant& out, DType made, float epsilon,
                     bool subtract_mean) noexcept {
  const CodeRange range = code_range(made);
  return {in.scale[0],  in.zero_point[0],  epsilon,      subtract_mean,
          out.scale[0], out.zero_point[0], range.lowest, range.highest};
}

/// What the codes' differences, times count if the mean is subtracted, are multiplied by.
/// `sum` and `squares` are those of the row's q - in_zero.
inline float norm_factor(std::int64_t count, std::int64_t sum, std::int64_t squares,
                         const NormCodes& n) noexcept {
  const double s = static_cast<double>(n.in_scale), c = static_cast<double>(count),
               epsilon = static_cast<double>(n.epsilon);
  if (!n.subtract_mean)
    return static_cast<float>(s / std::sqrt(static_cast<double>(squares) * s * s / c + epsilon));
  const double spread = static_cast<double>(count * squares - sum * sum);
  return static_cast<float>(s / (c * std::sqrt(spread * s * s / (c * c) + epsilon)));
}

/// One row of `count` codes side by side. `bias` may be null. In place is allowed.
template <class In, class Out>
void norm_row(const In* x, Out* y, std::int64_t count, const float* scale, const float* bias,
              const NormCodes& n) noexcept {
  std::int64_t sum = 0, squares = 0;
  for (std::int64_t i = 0; i < count; i++) {
    const std::int32_t d = x[i] - n.in_zero;
    sum += d;
    squares += std::int64_t{d} * d;
  }
  const float factor = norm_factor(count, sum, squares, n);
  const std::int64_t times = n.subtract_mean ? count : 1, less = n.subtract_mean ? sum : 0;
  for (std::int64_t i = 0; i < count; i++) {
    const std::int64_t d = x[i] - n.in_zero;
    float value = static_cast<float>(times * d - less) * factor * scale[i];
    if (bias) value = value + bias[i];
    y[i] = static_cast<Out>(quantise(value, n.out_scale, n.out_zero, n.lowest, n.highest));
  }
}

}  // namespace longshore
