// One number of one type as another type: the rules of Cast, docs/numbers.md.
#pragma once
#include <cmath>
#include <limits>

#include "base/status.hpp"
#include "tensor/tensor.hpp"
#include "tensor/visit.hpp"

namespace longshore {

template <class T>
inline constexpr bool is_tiny = false;
template <int bits, bool is_signed>
inline constexpr bool is_tiny<TinyInt<bits, is_signed>> = true;

/// From is double, float or an integer; To is any stored type. Float to integer truncates and
/// saturates, NaN gives 0; integer to integer keeps the low bits; to float rounds to nearest even.
/// Types below 8 bits take the low bits of the 64-bit integer, as ONNX's own tests have it.
template <class To, class From>
To convert(From x) noexcept {
  if constexpr (std::is_same_v<To, Bool8>) {
    return Bool8(x != From{0});
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    using Limits = std::numeric_limits<To>;
    const double value = static_cast<double>(x);
    if (std::isnan(value)) return To{0};
    if (value <= static_cast<double>(Limits::lowest())) return Limits::lowest();
    if (value >= static_cast<double>(Limits::max())) return Limits::max();
    return static_cast<To>(value);
  } else if constexpr (is_tiny<To>) {
    if constexpr (std::is_floating_point_v<From>)
      return To(convert<std::int64_t>(x));
    else
      return To(static_cast<std::int64_t>(x));
  } else if constexpr (std::is_arithmetic_v<To>) {
    return static_cast<To>(x);
  } else {
    return To(static_cast<double>(x));
  }
}

/// How a float8 type takes what does not fit.
struct Float8Options {
  enum class Round : std::uint8_t { up, down, nearest };
  bool saturate = true;     // to the largest number, else to infinity or NaN
  Round round = Round::up;  // of f8e8m0 alone
};

/// y = x, element by element, as y's type. Both have the same dims.
Status cast_tensor(const TensorView& x, const MutableView& y, const Float8Options& = {}) noexcept;

/// Element i of a tensor of any type as a double (integers above 2^53 lose low bits).
double load_real(const TensorView&, std::int64_t i) noexcept;
/// Element i of a tensor of any integer type of 8 or more bits; 0 for others.
std::int64_t load_integer(const TensorView&, std::int64_t i) noexcept;
/// Stores a number as the tensor's element type, by the rules of Cast.
void store_real(const MutableView&, std::int64_t i, double value) noexcept;
/// A scalar of any type but string.
Tensor make_number(DType, double value);

}  // namespace longshore
