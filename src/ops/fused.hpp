// What operators with a fused activation share: how they come apart again.
#pragma once
#include "base/error.hpp"
#include "ir/op.hpp"

namespace longshore::ops {

/// A node after `n` that computes the activation.
inline void append_activation(Node& n, const Activation& a, Rewriter& r) {
  Attributes attributes;
  const auto number = [&](float x) { return r.constant(make_floats({}, std::span(&x, 1))); };
  switch (a.kind) {
    case Activation::Kind::none:
      return;
    case Activation::Kind::clamp:
      if (a == Activation{.kind = Activation::Kind::clamp, .low = 0}) return r.after(n, "Relu", {});
      return r.after(n, "Clip", {number(a.low), number(a.high)});
    case Activation::Kind::leaky_relu:
      attributes.set("alpha", a.alpha);
      return r.after(n, "LeakyRelu", {}, attributes);
    case Activation::Kind::sigmoid:
      return r.after(n, "Sigmoid", {});
    case Activation::Kind::tanh:
      return r.after(n, "Tanh", {});
    case Activation::Kind::hard_sigmoid:
      attributes.set("alpha", a.alpha);
      attributes.set("beta", a.beta);
      return r.after(n, "HardSigmoid", {}, attributes);
  }
}

/// The plain operator, the sum and the activation, as nodes of their own; without a clamp that the
/// ends of the codes are anyhow.
inline void take_apart(Node& n, std::string_view plain, Rewriter& r) {
  Activation a;
  const ValueId residual = input_with(n, InputRole::residual);
  require(Activation::from(n.attributes, a), describe(n));
  const TensorType& y = r.graph()[n.outputs[0]].type;
  if (y.quantised() && a.saturates(y.dtype, y.quant.scale[0], y.quant.zero_point[0])) a = {};
  Activation{}.to(n.attributes);
  n.op = &op_named(plain);
  n.inputs.resize(std::min(n.inputs.size(), n.op->schema.inputs.size()));
  while (n.inputs.back() == no_value) n.inputs.pop_back();
  append_activation(n, a, r);
  if (residual != no_value) r.after(n, "Add", {residual});
}

/// Integer formulas know clamps and no residual: everything else is taken apart.
inline void split_fused(Node& n, std::string_view plain, Rewriter& r) {
  Activation a;
  if (!Activation::from(n.attributes, a).ok()) return;
  if (a.narrows() && input_with(n, InputRole::residual) == no_value) return;
  take_apart(n, plain, r);
}

/// `fused` of an operator that has an activation already: itself while that is none.
inline bool has_no_activation(const NodeTypes& n) {
  Activation a;
  return Activation::from(n.node.attributes, a).ok() && a.kind == Activation::Kind::none;
}

}  // namespace longshore::ops
