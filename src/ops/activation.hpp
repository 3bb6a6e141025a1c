// The activation functions that several operators share.
#pragma once
#include <cmath>

#include "ir/op.hpp"

namespace longshore::ops {

/// `activation` of an operator whose attributes alpha and beta (where its schema has them) are the
/// parameters; `a` holds their defaults.
template <Activation a>
std::optional<Activation> activation_with_attributes(const NodeTypes& n) {
  Activation out = a;
  out.alpha = n.node.attributes.real("alpha", a.alpha);
  out.beta = n.node.attributes.real("beta", a.beta);
  return out;
}

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
  const T inner =
      static_cast<T>(0.79788456080286535588) * (x + static_cast<T>(0.044715) * x * x * x);
  return static_cast<T>(0.5) * x * (1 + std::tanh(inner));
}

}  // namespace longshore::ops
