#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace longshore {

/// How a value that does not fit is stored: as the largest finite number or as infinity/NaN.
enum class Overflow : std::uint8_t { saturate, to_infinity };

/// Rounds to nearest, ties to even, into a small binary format given by its bit widths.
/// `no_infinity`: the format uses the all-ones exponent for numbers (e4m3fn, fnuz, e2m1).
/// `unsigned_zero`: NaN is the code of -0 and the bias is one more (the fnuz formats).
template <int exponent_bits, int mantissa_bits, int bias, bool no_infinity, bool unsigned_zero>
struct SmallFloatFormat {
  static constexpr int total_bits = 1 + exponent_bits + mantissa_bits;
  static constexpr std::uint32_t sign_bit = 1u << (exponent_bits + mantissa_bits);
  static constexpr std::uint32_t exponent_ones = (1u << exponent_bits) - 1;
  static constexpr std::uint32_t mantissa_ones = (1u << mantissa_bits) - 1;
  static constexpr bool is_e2m1 = exponent_bits == 2;
  static constexpr std::uint32_t nan_code =
      unsigned_zero ? sign_bit
                    : (exponent_ones << mantissa_bits) |
                          (no_infinity ? mantissa_ones : (1u << (mantissa_bits - 1)));
  static constexpr std::uint32_t infinity_code = exponent_ones << mantissa_bits;
  /// The code of the largest finite number.
  static constexpr std::uint32_t largest_code =
      no_infinity ? (exponent_ones << mantissa_bits) |
                        (unsigned_zero || is_e2m1 ? mantissa_ones : mantissa_ones - 1)
                  : ((exponent_ones - 1) << mantissa_bits) | mantissa_ones;

  static std::uint32_t encode(double value, Overflow overflow) noexcept {
    const std::uint32_t sign = std::signbit(value) ? sign_bit : 0;
    // e2m1 has no NaN: -0 stands for it, as in ml_dtypes and ONNX's tests.
    if (std::isnan(value)) return is_e2m1 ? sign_bit : unsigned_zero ? nan_code : sign | nan_code;
    const double magnitude = std::fabs(value);
    std::uint32_t code = 0;
    if (std::isinf(value)) {
      code = largest_code + 1;
    } else if (magnitude > 0) {
      int exponent = 0;
      std::frexp(magnitude, &exponent);  // magnitude = f * 2^exponent, f in [0.5, 1)
      // Unit of the last place: normal numbers have exponent-1-mantissa_bits.
      const int lowest = 1 - bias;
      const int unit = std::max(exponent - 1, lowest) - mantissa_bits;
      const double steps = std::nearbyint(std::ldexp(magnitude, -unit));
      // steps counts units from the start of its binade; a carry moves to the next by itself.
      code = static_cast<std::uint32_t>(steps) +
             (static_cast<std::uint32_t>(unit + mantissa_bits - lowest) << mantissa_bits);
    }
    if (code > largest_code) {
      if (overflow == Overflow::saturate || is_e2m1) return sign | largest_code;
      return no_infinity ? (unsigned_zero ? nan_code : sign | nan_code) : sign | infinity_code;
    }
    if (unsigned_zero && code == 0) return 0;
    return sign | code;
  }

  static double decode(std::uint32_t code) noexcept {
    if (unsigned_zero && code == sign_bit) return std::numeric_limits<double>::quiet_NaN();
    const std::uint32_t magnitude = code & (sign_bit - 1);
    const std::uint32_t exponent = magnitude >> mantissa_bits, mantissa = magnitude & mantissa_ones;
    const double sign = code & sign_bit ? -1.0 : 1.0;
    if (!no_infinity && exponent == exponent_ones)
      return mantissa ? std::numeric_limits<double>::quiet_NaN()
                      : sign * std::numeric_limits<double>::infinity();
    if (no_infinity && !unsigned_zero && !is_e2m1 && magnitude > largest_code)
      return std::numeric_limits<double>::quiet_NaN();
    if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
    return sign * std::ldexp(mantissa + (1u << mantissa_bits),
                             static_cast<int>(exponent) - bias - mantissa_bits);
  }
};

using F16Format = SmallFloatFormat<5, 10, 15, false, false>;
using F8E4M3FnFormat = SmallFloatFormat<4, 3, 7, true, false>;
using F8E4M3FnuzFormat = SmallFloatFormat<4, 3, 8, true, true>;
using F8E5M2Format = SmallFloatFormat<5, 2, 15, false, false>;
using F8E5M2FnuzFormat = SmallFloatFormat<5, 2, 16, true, true>;
using F4E2M1Format = SmallFloatFormat<2, 1, 1, true, false>;

/// A stored small float that computes as float.
template <class Format, class Storage, Overflow overflow>
struct SmallFloat {
  Storage code = 0;
  SmallFloat() = default;
  explicit SmallFloat(double value) noexcept
      : code(static_cast<Storage>(Format::encode(value, overflow))) {}
  operator float() const noexcept {  // NOLINT(google-explicit-constructor)
    return static_cast<float>(Format::decode(code));
  }
};
using Float16 = SmallFloat<F16Format, std::uint16_t, Overflow::to_infinity>;
using Float8E4M3Fn = SmallFloat<F8E4M3FnFormat, std::uint8_t, Overflow::saturate>;
using Float8E4M3Fnuz = SmallFloat<F8E4M3FnuzFormat, std::uint8_t, Overflow::saturate>;
using Float8E5M2 = SmallFloat<F8E5M2Format, std::uint8_t, Overflow::saturate>;
using Float8E5M2Fnuz = SmallFloat<F8E5M2FnuzFormat, std::uint8_t, Overflow::saturate>;
using Float4E2M1 = SmallFloat<F4E2M1Format, std::uint8_t, Overflow::saturate>;

/// The upper half of a float32; rounds to nearest, ties to even.
struct BFloat16 {
  std::uint16_t code = 0;
  BFloat16() = default;
  explicit BFloat16(double value) noexcept {
    const float single = static_cast<float>(value);
    const auto bits = std::bit_cast<std::uint32_t>(single);
    code = std::isnan(single)
               ? static_cast<std::uint16_t>((bits >> 16) | 0x40u)
               : static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
  }
  operator float() const noexcept {  // NOLINT(google-explicit-constructor)
    return std::bit_cast<float>(static_cast<std::uint32_t>(code) << 16);
  }
};

/// A power of two from 2^-127 to 2^127; code 255 is NaN.
struct Float8E8M0 {
  std::uint8_t code = 0;
  Float8E8M0() = default;
  explicit Float8E8M0(double value) noexcept {
    const double magnitude = std::fabs(value);
    if (std::isnan(value)) {
      code = 255;
      return;
    }
    if (std::isinf(value)) {
      code = 254;
      return;
    }
    if (magnitude == 0) {
      code = 0;
      return;
    }
    int exponent = 0;
    const double fraction = std::frexp(magnitude, &exponent);  // [0.5, 1)
    // Round half up in magnitude: 0.75 is midway between 2^(e-1) and 2^e.
    const int power = fraction >= 0.75 ? exponent : exponent - 1;
    code = static_cast<std::uint8_t>(std::min(254, std::max(0, power + 127)));
  }
  operator float() const noexcept {  // NOLINT(google-explicit-constructor)
    if (code == 255) return std::numeric_limits<float>::quiet_NaN();
    return static_cast<float>(std::ldexp(1.0, static_cast<int>(code) - 127));
  }
};

/// A bool of one byte whose nonzero codes are all true: reading it is never undefined.
struct Bool8 {
  std::uint8_t code = 0;
  Bool8() = default;
  Bool8(bool value) noexcept : code(value ? 1 : 0) {}   // NOLINT(google-explicit-constructor)
  operator bool() const noexcept { return code != 0; }  // NOLINT(google-explicit-constructor)
};

/// Integers of fewer than 8 bits, stored in one byte each.
template <int bits, bool is_signed>
struct TinyInt {
  std::int8_t code = 0;
  TinyInt() = default;
  explicit TinyInt(std::int64_t value) noexcept {
    const auto low = static_cast<int>(value & ((1 << bits) - 1));
    code = static_cast<std::int8_t>(is_signed && low >> (bits - 1) ? low - (1 << bits) : low);
  }
  operator int() const noexcept { return code; }  // NOLINT(google-explicit-constructor)
  static constexpr int lowest() { return is_signed ? -(1 << (bits - 1)) : 0; }
  static constexpr int highest() { return (1 << (is_signed ? bits - 1 : bits)) - 1; }
};
using Int4 = TinyInt<4, true>;
using UInt4 = TinyInt<4, false>;
using Int2 = TinyInt<2, true>;
using UInt2 = TinyInt<2, false>;

}  // namespace longshore
