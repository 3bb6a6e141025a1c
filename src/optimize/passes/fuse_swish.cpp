#include "ir/pass.hpp"

namespace longshore::passes {
namespace {

bool rewrite(Match& m) {
  const Node& n = m.node();
  if (!m.is("Mul")) return false;
  for (std::size_t i = 0; i < 2; i++) {
    const ValueId x = n.inputs[i], gate = n.inputs[1 - i];
    const Node* sigmoid = m.def(gate, "Sigmoid");
    const Node* hard = m.def(gate, "HardSigmoid");
    if (sigmoid && sigmoid->inputs[0] == x && m.uses(gate) == 1) {
      m.replace(n.outputs[0], m.add("Swish", {x}));
      return true;
    }
    if (hard && hard->inputs[0] == x && m.uses(gate) == 1 &&
        hard->attributes.real("alpha", 0.2f) == 1.0f / 6 &&
        hard->attributes.real("beta", 0.5f) == 0.5f) {
      m.replace(n.outputs[0], m.add("HardSwish", {x}));
      return true;
    }
  }
  return false;
}

}  // namespace

extern constinit const Pass pass_fuse_swish = {
    .stage = Stage::fuse,
    .doc = "x * Sigmoid(x) is Swish (SiLU); x * HardSigmoid(x, 1/6, 1/2) is HardSwish.",
    .rewrite = rewrite,
    .cases = {{"(x: f32[3]) { a = Sigmoid(x) y = Mul(a, x) return y }",
               "(x: f32[3]) { y = Swish(x) return y }"},
              {"(x: f32[3]) { a = HardSigmoid(x, alpha=0.16666667) y = Mul(x, a) return y }",
               "(x: f32[3]) { y = HardSwish(x) return y }"},
              {"(x: f32[3], z: f32[3]) { a = Sigmoid(x) y = Mul(a, z) return y }", ""},
              // The gate is rounded to codes.
              {"(x: i8[3] q(0.05, 0)) { a: i8[3] q(0.00390625, -128) = Sigmoid(x) y: i8[3] q(0.05, "
               "0) = Mul(a, x) return y }",
               ""}},
};

}  // namespace longshore::passes
