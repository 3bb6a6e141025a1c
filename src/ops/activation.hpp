// The activation functions that several operators share, and the ones that are fused.
#pragma once
#include <algorithm>
#include <cmath>
#include <string_view>

#include "tensor/attribute.hpp"
#include "tensor/requantise.hpp"

namespace longshore::ops {

/// log(1 + exp(x)) without overflow; NaN stays NaN.
template <class T>
T softplus(T x) {
  return (x > 0 ? x : T{0}) + std::log1p(std::exp(-std::fabs(x)));
}
/// max(0, min(1, alpha * x + beta)); NaN stays NaN.
template <class T, class P>
T hard_sigmoid(T x, P alpha, P beta) {
  const T y = static_cast<T>(alpha) * x + static_cast<T>(beta);
  return y < 0 ? T{0} : y > 1 ? T{1} : y;
}
template <class T>
T gelu(T x) {
  return static_cast<T>(0.5) * x * (1 + std::erf(x * static_cast<T>(0.70710678118654752440)));
}
/// The near formula: 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))).
template <class T>
T gelu_tanh(T x) {
  const T inner = static_cast<T>(0.79788456080286535588) * (x + static_cast<T>(0.044715) * x * x * x);
  return static_cast<T>(0.5) * x * (1 + std::tanh(inner));
}

/// What FusedConv and FusedGemm do to each result.
struct Activation {
  enum class Kind : std::uint8_t { none, relu, clip, leaky_relu, sigmoid, tanh, hard_sigmoid };
  Kind kind = Kind::none;
  float a = 0, b = 0;  // clip: lowest and highest; leaky_relu: alpha; hard_sigmoid: alpha and beta

  template <class T>
  T operator()(T x) const {
    switch (kind) {
      case Kind::none: break;
      case Kind::relu: return x < 0 ? T{0} : x;
      case Kind::clip: {
        const T low = static_cast<T>(a), high = static_cast<T>(b);
        const T y = x < low ? low : x;
        return y > high ? high : y;
      }
      case Kind::leaky_relu: return x < 0 ? static_cast<T>(a) * x : x;
      case Kind::sigmoid: return 1 / (1 + std::exp(-x));
      case Kind::tanh: return std::tanh(x);
      case Kind::hard_sigmoid: return hard_sigmoid(x, a, b);
    }
    return x;
  }

  /// Codes that the activation allows; true only for the kinds that stay fused in the quantised
  /// form. lowest and highest come in as the range of the element type.
  bool narrow(float scale, std::int32_t zero_point, std::int32_t& lowest, std::int32_t& highest) const {
    const std::int32_t low = lowest, high = highest;
    switch (kind) {
      case Kind::none: return true;
      case Kind::relu: lowest = std::max(low, zero_point); return true;
      case Kind::clip:
        lowest = std::max(low, quantise(a, scale, zero_point, low, high));
        highest = std::min(high, quantise(b, scale, zero_point, low, high));
        return true;
      default: return false;
    }
  }
};

/// Reads the attributes `activation` and its parameters: activation_params (a list), or
/// activation_alpha and activation_beta. False for an unknown name.
inline bool activation_of(const Attributes& attributes, Activation& out) {
  struct Row {
    std::string_view name;
    Activation::Kind kind;
    float a, b;  // where the parameters are absent
  };
  constexpr float largest = 3.402823466e38f;
  static constexpr Row rows[] = {
      {"", Activation::Kind::none, 0, 0},          {"Relu", Activation::Kind::relu, 0, 0},
      {"Clip", Activation::Kind::clip, -largest, largest},
      {"LeakyRelu", Activation::Kind::leaky_relu, 0.01f, 0},
      {"Sigmoid", Activation::Kind::sigmoid, 0, 0}, {"Tanh", Activation::Kind::tanh, 0, 0},
      {"HardSigmoid", Activation::Kind::hard_sigmoid, 0.2f, 0.5f},
  };
  const std::string_view wanted = attributes.text("activation");
  const auto params = attributes.reals("activation_params");
  for (const Row& row : rows) {
    if (row.name != wanted) continue;
    out.kind = row.kind;
    out.a = params.size() > 0 ? params[0] : attributes.real("activation_alpha", row.a);
    out.b = params.size() > 1 ? params[1] : attributes.real("activation_beta", row.b);
    return true;
  }
  return false;
}

}  // namespace longshore::ops
