// The activation at the end of com.microsoft.FusedConv and FusedGemm.
#pragma once
#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>

#include "base/status.hpp"
#include "tensor/requantise.hpp"

namespace longshore::ops {

/// An activation by its ONNX name with at most two parameters.
struct FusedActivation {
  enum class Kind : std::uint8_t { none, relu, clip, leaky_relu, sigmoid, tanh, hard_sigmoid };
  Kind kind = Kind::none;
  float a = 0, b = 0;

  static Status from(std::string_view name, std::span<const float> parameters,
                     FusedActivation& out) noexcept {
    struct Row {
      std::string_view name;
      Kind kind;
      std::size_t parameters;
      float a, b;
    };
    constexpr Row rows[] = {{"", Kind::none, 0, 0, 0},
                            {"Relu", Kind::relu, 0, 0, 0},
                            {"Clip", Kind::clip, 2, 0, 0},
                            {"LeakyRelu", Kind::leaky_relu, 1, 0.01f, 0},
                            {"Sigmoid", Kind::sigmoid, 0, 0, 0},
                            {"Tanh", Kind::tanh, 0, 0, 0},
                            {"HardSigmoid", Kind::hard_sigmoid, 2, 0.2f, 0.5f}};
    for (const Row& row : rows) {
      if (row.name != name) continue;
      if (parameters.size() > row.parameters || (row.kind == Kind::clip && parameters.size() != 2))
        return Status::error(Code::bad_model, "activation %s takes %zu parameters, not %zu",
                             row.name.data(), row.parameters, parameters.size());
      out = {row.kind, parameters.size() > 0 ? parameters[0] : row.a,
             parameters.size() > 1 ? parameters[1] : row.b};
      return {};
    }
    return Status::error(Code::unsupported, "there is no fused activation '%.40s'", name.data());
  }

  template <class T>
  T operator()(T x) const noexcept {
    const auto p = static_cast<T>(a), q = static_cast<T>(b);
    switch (kind) {
      case Kind::none:
        return x;
      case Kind::relu:
        return x < 0 ? T{0} : x;
      case Kind::clip:
        return x < p ? p : x > q ? q : x;
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

  /// True where the quantised form keeps the activation as a narrower code range.
  bool narrows() const noexcept {
    return kind == Kind::none || kind == Kind::relu || kind == Kind::clip;
  }
  /// Narrows [low, high] of an output with this scale and zero point.
  void narrow(float scale, std::int32_t zero_point, std::int32_t& low,
              std::int32_t& high) const noexcept {
    const std::int32_t lowest = low, highest = high;
    if (kind == Kind::relu) low = std::max(low, zero_point);
    if (kind != Kind::clip) return;
    low = std::max(low, quantise(a, scale, zero_point, lowest, highest));
    high = std::max(low, std::min(high, quantise(b, scale, zero_point, lowest, highest)));
  }
};

}  // namespace longshore::ops
