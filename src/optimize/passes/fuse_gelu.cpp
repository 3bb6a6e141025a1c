#include <cmath>

#include "ir/pass.hpp"

namespace longshore::passes {
namespace {

bool near(std::optional<double> got, double want) {
  return got && std::abs(*got - want) < 1e-5 * std::abs(want);
}

/// The other input where one is the constant `want`.
ValueId other_than(const Match& m, const Node* n, double want) {
  if (!n) return no_value;
  for (std::size_t i = 0; i < 2; i++)
    if (near(m.scalar(n->inputs[i], n->inputs[1 - i]), want)) return n->inputs[1 - i];
  return no_value;
}

/// x where v = 1 + Erf(x / sqrt(2)).
ValueId gate_of(const Match& m, ValueId v) {
  const ValueId erf_value = other_than(m, m.def(v, "Add"), 1.0);
  if (erf_value == no_value || m.uses(v) != 1) return no_value;
  const Node* erf = m.def(erf_value, "Erf");
  if (!erf) return no_value;
  const Node* divide = m.def(erf->inputs[0], "Div");
  if (divide && near(m.scalar(divide->inputs[1], divide->inputs[0]), std::sqrt(2.0)))
    return divide->inputs[0];
  return other_than(m, m.def(erf->inputs[0], "Mul"), std::sqrt(0.5));
}

/// The factors of the product that ends in this node: x, 1 + Erf(...), 0.5 in any order.
bool rewrite(Match& m) {
  const Node& n = m.node();
  if (!m.is("Mul") || m.type(n.outputs[0]).dtype != DType::f32) return false;
  ValueId factors[3] = {no_value, no_value, no_value};
  for (std::size_t i = 0; i < 2; i++) {
    const Node* inner = m.def(n.inputs[i], "Mul");
    if (!inner || m.uses(n.inputs[i]) != 1) continue;
    factors[0] = inner->inputs[0];
    factors[1] = inner->inputs[1];
    factors[2] = n.inputs[1 - i];
    for (std::size_t half = 0; half < 3; half++) {
      for (std::size_t gate = 0; gate < 3; gate++) {
        if (gate == half) continue;
        const ValueId x = factors[3 - half - gate];
        if (!near(m.scalar(factors[half], x), 0.5)) continue;
        if (gate_of(m, factors[gate]) != x) continue;
        m.replace(n.outputs[0], m.add("Gelu", {x}));
        return true;
      }
    }
  }
  return false;
}

}  // namespace

extern constinit const Pass pass_fuse_gelu = {
    .stage = Stage::fuse,
    .doc = "0.5 * x * (1 + Erf(x / sqrt 2)), in any order of the factors, is Gelu.",
    .rewrite = rewrite,
    .cases = {{"(x: f32[3]) { a = Div(x, f32[]{1.4142135}) b = Erf(a) c = Add(b, f32[]{1}) d = "
               "Mul(x, c) y = Mul(d, f32[]{0.5}) return y }",
               "(x: f32[3]) { y = Gelu(x) return y }"},
              {"(x: f32[3]) { a = Mul(x, f32[]{0.70710677}) b = Erf(a) c = Add(f32[]{1}, b) h = "
               "Mul(x, f32[]{0.5}) y = Mul(h, c) return y }",
               "(x: f32[3]) { y = Gelu(x) return y }"},
              {"(x: f32[3], z: f32[3]) { a = Div(x, f32[]{1.4142135}) b = Erf(a) c = Add(b, "
               "f32[]{1}) d = Mul(z, c) y = Mul(d, f32[]{0.5}) return y }",
               ""},
              // A constant of higher rank gives the result an axis more.
              {"(x: f32[3]) { a = Div(x, f32[]{1.4142135}) b = Erf(a) c = Add(b, f32[1,1]{1}) d = "
               "Mul(x, c) y = Mul(d, f32[]{0.5}) return y }",
               ""},
              {"(x: f32[N]) { a = Div(x, f32[]{1.4142135}) b = Erf(a) c = Add(b, f32[]{1}) d = "
               "Mul(x, c) y = Mul(d, f32[1,1,1]{0.5}) return y }",
               ""}},
};

}  // namespace longshore::passes
