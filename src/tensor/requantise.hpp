// The numeric contract: the one scalar definition of how integers become other integers.
// The reference, every CPU kernel, the simulator and the exporters call these functions or are
// tested against them bit for bit. docs/numbers.md states the same as formulas.
#pragma once
#include <cmath>
#include <cstdint>

namespace longshore {

/// How an int32 accumulator becomes an 8-bit number. A field of the graph.
enum class Rounding : std::uint8_t {
  f32_even,        // float multiply, clamp, round half to even, add: ONNX Runtime's QLinearConv
  fixed31_single,  // 31-bit multiplier, one rounding half up: XNNPACK, TOSA
  fixed31_double,  // 31-bit multiplier, two roundings: TFLite's reference kernels
};

/// q = clamp(round_half_even(x / scale) + zero_point, lowest, highest). NaN gives the zero point.
inline std::int32_t quantise(float x, float scale, std::int32_t zero_point, std::int32_t lowest,
                             std::int32_t highest) noexcept {
  const float q = std::nearbyint(x / scale);
  if (std::isnan(q))
    return zero_point < lowest ? lowest : zero_point > highest ? highest : zero_point;
  const double shifted = static_cast<double>(q) + zero_point;
  if (shifted <= lowest) return lowest;
  if (shifted >= highest) return highest;
  return static_cast<std::int32_t>(shifted);
}

inline float dequantise(std::int32_t q, float scale, std::int32_t zero_point) noexcept {
  return static_cast<float>(q - zero_point) * scale;
}

/// A real multiplier in all forms that the rounding modes need.
struct Multiplier {
  float real = 1;                // f32_even
  std::int32_t fixed = 1 << 30;  // fixed31: real = fixed * 2^(exponent - 31)
  std::int32_t exponent = 1;
};

/// scale_x * scale_w / scale_y: in float, in this order, as ONNX Runtime does, for f32_even; in
/// double, as TFLite does, for the fixed-point modes.
inline Multiplier make_multiplier(float scale_x, float scale_w, float scale_y) noexcept {
  Multiplier m;
  m.real = (scale_x * scale_w) / scale_y;
  const double exact =
      static_cast<double>(scale_x) * static_cast<double>(scale_w) / static_cast<double>(scale_y);
  int exponent = 0;
  const double fraction = std::frexp(exact, &exponent);
  auto fixed = static_cast<std::int64_t>(std::round(fraction * 2147483648.0));
  if (fixed == std::int64_t{1} << 31) {
    fixed /= 2;
    exponent++;
  }
  if (exponent < -31) {
    fixed = 0;
    exponent = 0;
  }
  if (exponent > 30) {  // far outside any sensible model; saturate instead of shifting too far
    fixed = 2147483647;
    exponent = 30;
  }
  m.fixed = static_cast<std::int32_t>(fixed);
  m.exponent = exponent;
  return m;
}

/// The accumulator times the multiplier, plus zero point, into [lowest, highest].
inline std::int32_t requantise(std::int32_t accumulator, const Multiplier& m,
                               std::int32_t zero_point, std::int32_t lowest, std::int32_t highest,
                               Rounding mode) noexcept {
  if (mode == Rounding::f32_even) {
    float y = static_cast<float>(accumulator) * m.real;
    const auto low = static_cast<float>(lowest - zero_point);
    const auto high = static_cast<float>(highest - zero_point);
    y = y < low ? low : y > high ? high : y;  // before rounding, as ONNX Runtime does
    return static_cast<std::int32_t>(std::nearbyint(y)) + zero_point;
  }
  std::int64_t y = 0;
  if (mode == Rounding::fixed31_single) {
    const int shift = 31 - m.exponent;  // 1 .. 62
    y = (static_cast<std::int64_t>(accumulator) * m.fixed + (std::int64_t{1} << (shift - 1))) >>
        shift;
  } else {
    const int left = m.exponent > 0 ? m.exponent : 0, right = m.exponent > 0 ? 0 : -m.exponent;
    std::int64_t shifted = static_cast<std::int64_t>(accumulator) * (std::int64_t{1} << left);
    if (shifted > INT32_MAX) shifted = INT32_MAX;
    if (shifted < INT32_MIN) shifted = INT32_MIN;
    // Saturating rounding doubling high multiply; fixed is never INT32_MIN.
    const std::int64_t product = shifted * m.fixed;
    const std::int64_t nudge = product >= 0 ? std::int64_t{1} << 30 : 1 - (std::int64_t{1} << 30);
    const std::int64_t high = (product + nudge) / (std::int64_t{1} << 31);
    const std::int64_t mask = (std::int64_t{1} << right) - 1;
    const std::int64_t rest = high & mask, threshold = (mask >> 1) + (high < 0 ? 1 : 0);
    y = (high >> right) + (rest > threshold ? 1 : 0);
  }
  y += zero_point;
  return static_cast<std::int32_t>(y < lowest ? lowest : y > highest ? highest : y);
}

/// The 64-bit sum of products with a factor of 16 bits: as f32_even in every mode, since the
/// fixed-point modes are defined for 32 bits.
inline std::int32_t requantise(std::int64_t accumulator, const Multiplier& m,
                               std::int32_t zero_point, std::int32_t lowest, std::int32_t highest,
                               Rounding) noexcept {
  float y = static_cast<float>(accumulator) * m.real;
  const auto low = static_cast<float>(lowest - zero_point);
  const auto high = static_cast<float>(highest - zero_point);
  y = y < low ? low : y > high ? high : y;
  return static_cast<std::int32_t>(std::nearbyint(y)) + zero_point;
}

}  // namespace longshore
