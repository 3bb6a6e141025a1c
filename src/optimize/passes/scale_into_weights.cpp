#include "optimize/fold.hpp"

namespace longshore::passes {
namespace {

/// What lies between a scaled value and constant weights, the nearest to the value first: nodes
/// that a factor passes through, and by which of their inputs it goes on. The last has the weights.
struct Step {
  Node node;
  std::size_t input;
};

/// The input of constant floats that a factor of v's maker can be multiplied into.
std::optional<std::size_t> weights_input(const Match& m, const Node& n) {
  const bool product = Match::is(n, "MatMul") || Match::is(n, "Gemm");
  if (!product && !(Match::is(n, "com.microsoft.FusedGemm") && !n.attributes.has("activation")))
    return {};
  if (n.input(2) != no_value && !floats(m, n.input(2))) return {};
  for (const std::size_t i : {1u, 0u})
    if (floats(m, n.input(i))) return i;
  return {};
}

/// Values on the way have one reader each: nobody else sees that they are scaled.
bool find(const Match& m, ValueId v, std::vector<Step>& path) {
  const Node* n = v == no_value || m.uses(v) != 1 ? nullptr : m.graph().def(v);
  if (!n || path.size() == 8) return false;
  if (const auto i = weights_input(m, *n)) {
    path.push_back({*n, *i});
    return true;
  }
  const bool moves = Match::is(*n, "Transpose") || Match::is(*n, "Reshape");
  if (!moves && !Match::is(*n, "MatMul")) return false;
  for (std::size_t i = 0; i < (moves ? 1 : 2); i++) {
    path.push_back({*n, i});
    if (find(m, n->inputs[i], path)) return true;
    path.pop_back();
  }
  return false;
}

ValueId scaled(Match& m, ValueId constant, double factor) {
  std::vector<float> values = *floats(m, constant);
  for (float& x : values) x = static_cast<float>(static_cast<double>(x) * factor);
  return m.add_constant(make_floats(m.constant(constant)->shape, values));
}

bool rewrite(Match& m) {
  const Node& n = m.node();
  if (!m.is("Mul") && !m.is("Div")) return false;
  for (std::size_t i = 0; i < (m.is("Mul") ? 2u : 1u); i++) {
    const ValueId data = n.inputs[i];
    const std::optional<double> number = m.scalar(n.inputs[1 - i], data);
    if (!number || m.type(data).dtype != DType::f32) continue;
    const double factor = m.is("Div") ? 1 / *number : *number;
    std::vector<Step> path;
    if (!std::isfinite(factor) || !find(m, data, path)) continue;
    ValueId now = no_value;
    for (std::size_t k = path.size(); k-- > 0;) {
      Node& copy = path[k].node;
      if (k + 1 == path.size()) {
        copy.inputs[path[k].input] = scaled(m, copy.inputs[path[k].input], factor);
        if (copy.input(2) != no_value) copy.inputs[2] = scaled(m, copy.inputs[2], factor);
      } else {
        copy.inputs[path[k].input] = now;
      }
      now = m.add_node(std::move(copy));
    }
    m.replace(n.outputs[0], now);
    return true;
  }
  return false;
}

}  // namespace

extern constinit const Pass pass_scale_into_weights = {
    .stage = Stage::fuse,
    .doc =
        "A number by which a product is multiplied or divided goes into constant weights before "
        "it, "
        "through Transposes, Reshapes and products of two computed tensors: attention's 1 / "
        "sqrt(d).",
    .rewrite = rewrite,
    .cases =
        {{"(x: f32[1,2,2], k: f32[1,2,2]) { q = MatMul(x, f32[2,2]{1, 2, 3, 4}) a = MatMul(q, k) y "
          "= "
          "Div(a, f32[1]{4}) return y }",
          "(x: f32[1,2,2], k: f32[1,2,2]) { q = MatMul(x, f32[2,2]{0.25, 0.5, 0.75, 1}) y = "
          "MatMul(q, k) return y }"},
         {"(x: f32[2,2], k: f32[1,2,2,1]) { q = Gemm(x, f32[2,2]{1, 2, 3, 4}, f32[2]{1, 2}) r = "
          "Reshape(q, i64[4]{1, 2, 2, 1}) t = Transpose(r, perm=[0, 2, 3, 1]) a = MatMul(k, t) y = "
          "Mul(f32[1]{2}, a) return y }",
          "(x: f32[2,2], k: f32[1,2,2,1]) { q = Gemm(x, f32[2,2]{2, 4, 6, 8}, f32[2]{2, 4}) r = "
          "Reshape(q, i64[4]{1, 2, 2, 1}) t = Transpose(r, perm=[0, 2, 3, 1]) y = MatMul(k, t) "
          "return y }"},
         {"(x: f32[1,2,2], k: f32[1,2,2]) { q = MatMul(x, f32[2,2]{1, 2, 3, 4}) a = MatMul(q, k) y "
          "= "
          "Div(a, f32[1]{4}) return y, q }",
          ""},
         {"(x: f32[1,2,2], k: f32[1,2,2]) { q = MatMul(x, f32[2,2]{1, 2, 3, 4}) a = MatMul(q, k) y "
          "= "
          "Mul(a, f32[2]{4, 5}) return y }",
          ""}},
};

}  // namespace longshore::passes
