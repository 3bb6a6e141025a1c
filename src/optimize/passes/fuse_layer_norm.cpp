#include "ir/pass.hpp"

namespace longshore::passes {
namespace {

/// x where v = ReduceMean(x, [last axis], keepdims=1).
ValueId mean_of(const Match& m, ValueId v) {
  const Node* n = m.def(v, "ReduceMean");
  if (!n || n->attributes.integer("keepdims", 1) != 1 || !m.type(n->inputs[0]).ranked)
    return no_value;
  const Tensor* axes = m.constant(n->input(1));
  const int rank = m.type(n->inputs[0]).rank();
  if (!axes || axes->dtype != DType::i64 || axes->elements() != 1) return no_value;
  return resolve_axis(axes->values<std::int64_t>()[0], rank) == rank - 1 ? n->inputs[0] : no_value;
}

/// d where v = d^2, written as Pow or Mul.
ValueId square_of(const Match& m, ValueId v) {
  if (const Node* power = m.def(v, "Pow"))
    return m.scalar(power->inputs[1], power->inputs[0]) == 2.0 ? power->inputs[0] : no_value;
  const Node* product = m.def(v, "Mul");
  return product && product->inputs[0] == product->inputs[1] ? product->inputs[0] : no_value;
}

/// The bare norm (x - mean) / sqrt(variance + epsilon) as a node of its own.
struct Norm {
  ValueId x = no_value;
  float epsilon = 0;
};
std::optional<Norm> norm_of(const Match& m, ValueId v) {
  const Node* divide = m.def(v, "Div");
  if (!divide) return {};
  const Node* deviation = m.def(divide->inputs[0], "Sub");
  const Node* root = m.def(divide->inputs[1], "Sqrt");
  if (!deviation || !root) return {};
  const ValueId x = deviation->inputs[0];
  if (mean_of(m, deviation->inputs[1]) != x) return {};
  const Node* add = m.def(root->inputs[0], "Add");
  if (!add) return {};
  for (std::size_t i = 0; i < 2; i++) {
    const auto epsilon = m.scalar(add->inputs[i], add->inputs[1 - i]);
    const ValueId squared = mean_of(m, add->inputs[1 - i]);
    if (!epsilon || squared == no_value) continue;
    const ValueId d = square_of(m, squared);
    // The deviation may be computed twice.
    const Node* again = d == no_value ? nullptr : m.def(d, "Sub");
    if (again && again->inputs[0] == x && mean_of(m, again->inputs[1]) == x)
      return Norm{x, static_cast<float>(*epsilon)};
  }
  return {};
}

/// A constant vector as long as the last axis of x.
bool fits(const Match& m, ValueId v, ValueId x) {
  const Tensor* t = m.constant(v);
  const Dim& last = m.type(x).dims.back();
  return t && t->dtype == DType::f32 && t->shape.rank == 1 && last.known() &&
         t->shape[0] == last.value;
}

bool rewrite(Match& m) {
  const Node& n = m.node();
  if (!m.is("Add") || m.type(n.outputs[0]).dtype != DType::f32) return false;
  for (std::size_t i = 0; i < 2; i++) {
    const Node* scaled = m.def(n.inputs[i], "Mul");
    const ValueId shift = n.inputs[1 - i];
    if (!scaled || m.uses(n.inputs[i]) != 1) continue;
    for (std::size_t k = 0; k < 2; k++) {
      const std::optional<Norm> norm = norm_of(m, scaled->inputs[k]);
      const ValueId scale = scaled->inputs[1 - k];
      if (!norm || m.type(norm->x).rank() == 0 || !fits(m, scale, norm->x) ||
          !fits(m, shift, norm->x))
        continue;
      if (m.uses(scaled->inputs[k]) != 1) continue;
      Attributes attributes;
      attributes.set("axis", std::int64_t{-1});
      attributes.set("epsilon", norm->epsilon);
      m.replace(n.outputs[0],
                m.add("LayerNormalization", {norm->x, scale, shift}, std::move(attributes)));
      return true;
    }
  }
  return false;
}

}  // namespace

extern constinit const Pass pass_fuse_layer_norm = {
    .stage = Stage::fuse,
    .doc =
        "(x - mean) / sqrt(mean of squares + epsilon) * scale + shift over the last axis is "
        "LayerNormalization.",
    .rewrite = rewrite,
    .cases = {{"(x: f32[2,3]) { a = ReduceMean(x, i64[1]{-1}) d = Sub(x, a) s = Pow(d, f32[]{2}) v "
               "= ReduceMean(s, i64[1]{-1}) "
               "e = Add(v, f32[]{0.001}) r = Sqrt(e) q = Div(d, r) k = Mul(q, f32[3]{1, 2, 3}) y = "
               "Add(k, f32[3]{4, 5, 6}) return y }",
               "(x: f32[2,3]) { y = LayerNormalization(x, f32[3]{1, 2, 3}, f32[3]{4, 5, 6}, "
               "axis=-1, epsilon=0.001) return y }"},
              {"(x: f32[2,3]) { a = ReduceMean(x, i64[1]{0}) d = Sub(x, a) s = Pow(d, f32[]{2}) v "
               "= ReduceMean(s, i64[1]{0}) "
               "e = Add(v, f32[]{0.001}) r = Sqrt(e) q = Div(d, r) k = Mul(q, f32[3]{1, 2, 3}) y = "
               "Add(k, f32[3]{4, 5, 6}) return y }",
               ""},
              {"(x: f32[2,3]) { a = ReduceMean(x, i64[1]{-1}) d = Sub(x, a) s = Pow(d, f32[]{2}) v "
               "= ReduceMean(s, i64[1]{-1}) "
               "e = Add(v, f32[1,1,1,1]{0.001}) r = Sqrt(e) q = Div(d, r) k = Mul(q, f32[3]{1, 2, "
               "3}) y = Add(k, f32[3]{4, 5, 6}) return y }",
               ""},
              {"(x: f32[2,3]) { a = ReduceMean(x, i64[1]{-1}) d = Sub(x, a) s = Pow(d, "
               "f32[1,1,1]{2}) v = ReduceMean(s, i64[1]{-1}) "
               "e = Add(v, f32[]{0.001}) r = Sqrt(e) q = Div(d, r) k = Mul(q, f32[3]{1, 2, 3}) y = "
               "Add(k, f32[3]{4, 5, 6}) return y }",
               ""}},
};

}  // namespace longshore::passes
