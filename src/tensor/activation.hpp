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
                     Activation& out) noexcept {
    struct Row {
      std::string_view name;
      Kind kind;
      std::size_t least, most;
      float a, b;
    };
    constexpr float infinity = std::numeric_limits<float>::infinity();
    constexpr Row rows[] = {{"", Kind::none, 0, 0, 0, 0},
                            {"Identity", Kind::none, 0, 0, 0, 0},
                            {"Relu", Kind::clamp, 0, 0, 0, infinity},
                            {"Clip", Kind::clamp, 2, 2, 0, 0},
                            {"LeakyRelu", Kind::leaky_relu, 0, 1, 0.01f, 0},
                            {"Sigmoid", Kind::sigmoid, 0, 0, 0, 0},
                            {"Tanh", Kind::tanh, 0, 0, 0, 0},
                            {"HardSigmoid", Kind::hard_sigmoid, 0, 2, 0.2f, 0.5f}};
    for (const Row& row : rows) {
      if (row.name != name) continue;
      if (parameters.size() < row.least || parameters.size() > row.most)
        return Status::error(Code::bad_model, "activation %s takes %zu parameters, not %zu",
                             row.name.data(), row.most, parameters.size());
      const float a = parameters.size() > 0 ? parameters[0] : row.a,
                  b = parameters.size() > 1 ? parameters[1] : row.b;
      out = {.kind = row.kind};
      if (row.kind == Kind::clamp)
        out.low = a, out.high = b;
      else
        out.alpha = a, out.beta = b;
      return {};
    }
    return Status::error(Code::unsupported, "there is no fused activation '%.40s'", name.data());
  }

  /// From `activation` and `activation_params`, or activation_alpha and activation_beta.
  static Status from(const Attributes& attributes, Activation& out) noexcept {
    float parameters[2] = {};
    std::size_t count = 0;
    for (std::string_view name : {"activation_alpha", "activation_beta"})
      if (attributes.has(name)) parameters[count++] = attributes.real(name);
    const std::span<const float> given = attributes.reals("activation_params");
    return from(attributes.text("activation"), given.empty() ? std::span(parameters, count) : given,
                out);
  }

  /// As attributes that the other `from` reads.
  void to(Attributes& attributes) const {
    for (std::string_view name : {"activation", "activation_params", "activation_alpha",
                                  "activation_beta", "activation_gamma"})
      attributes.erase(name);
    constexpr float infinity = std::numeric_limits<float>::infinity();
    switch (kind) {
      case Kind::none:
        return;
      case Kind::clamp: {
        const bool relu = low == 0 && high == infinity;
        attributes.set("activation", std::string(relu ? "Relu" : "Clip"));
        if (!relu) attributes.set("activation_params", Reals{low, high});
        return;
      }
      case Kind::leaky_relu:
        attributes.set("activation", std::string("LeakyRelu"));
        attributes.set("activation_params", Reals{alpha});
        return;
      case Kind::sigmoid:
        attributes.set("activation", std::string("Sigmoid"));
        return;
      case Kind::tanh:
        attributes.set("activation", std::string("Tanh"));
        return;
      case Kind::hard_sigmoid:
        attributes.set("activation", std::string("HardSigmoid"));
        attributes.set("activation_params", Reals{alpha, beta});
    }
  }

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
};

}  // namespace longshore
