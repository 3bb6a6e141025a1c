// The activation at the end of a fused operator: one value for operators, passes, quantiser,
// kernels and forms.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/status.hpp"
#include "tensor/attribute.hpp"
#include "tensor/requantise.hpp"

namespace longshore {

/// A function of one number. Relu and Clip are clamps; NaN passes every clamp.
struct Activation {
  enum class Kind : std::uint8_t { none, clamp, leaky_relu, sigmoid, tanh, hard_sigmoid };
  Kind kind = Kind::none;
  float low = -std::numeric_limits<float>::infinity();  // clamp only
  float high = std::numeric_limits<float>::infinity();
  float alpha = 0, beta = 0;  // leaky_relu, hard_sigmoid
  bool operator==(const Activation&) const = default;

  /// From the ONNX name of the function and its parameters in the order that
  /// com.microsoft.FusedConv has them. Fails on a name that is not known and on too many
  /// parameters.
  static Status from(std::string_view name, std::span<const float> parameters,
                     Activation& out) noexcept;

  /// From `activation` and `activation_params`, or activation_alpha and activation_beta.
  static Status from(const Attributes& attributes, Activation& out) noexcept;

  /// As attributes that the other `from` reads.
  void to(Attributes& attributes) const;

  template <class T>
  T operator()(T x) const noexcept {
    const auto p = static_cast<T>(alpha), q = static_cast<T>(beta);
    switch (kind) {
      case Kind::none:
        return x;
      case Kind::clamp:
        return x < static_cast<T>(low)    ? static_cast<T>(low)
               : x > static_cast<T>(high) ? static_cast<T>(high)
                                          : x;
      case Kind::leaky_relu:
        return x < 0 ? p * x : x;
      case Kind::sigmoid:
        return T{1} / (T{1} + std::exp(-x));
      case Kind::tanh:
        return std::tanh(x);
      case Kind::hard_sigmoid: {
        const T y = p * x + q;
        return y < 0 ? T{0} : y > 1 ? T{1} : y;
      }
    }
    return x;
  }

  /// True where the quantised form keeps the activation as a narrower range of codes.
  bool narrows() const noexcept { return kind == Kind::none || kind == Kind::clamp; }
  /// Narrows [lowest, highest] of an output with this scale and zero point.
  void narrow(float scale, std::int32_t zero_point, std::int32_t& lowest,
              std::int32_t& highest) const noexcept {
    if (kind != Kind::clamp) return;
    const std::int32_t from = lowest, to = highest;
    lowest = std::max(lowest, quantise(low, scale, zero_point, from, to));
    highest = std::max(lowest, std::min(highest, quantise(high, scale, zero_point, from, to)));
  }
  /// True of a clamp where codes of this type, scale and zero point saturate at its bounds anyhow.
  bool saturates(DType codes, float scale, std::int32_t zero_point) const noexcept;
};

}  // namespace longshore
