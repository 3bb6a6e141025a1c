#include "ir/pass.hpp"

namespace longshore::passes {
namespace {

/// x where v = x + 3 with the constant on either side.
ValueId plus_three(const Match& m, ValueId v) {
  const Node* add = m.def(v, "Add");
  if (!add) return no_value;
  for (std::size_t i = 0; i < 2; i++)
    if (m.scalar(add->inputs[i], add->inputs[1 - i]) == 3.0) return add->inputs[1 - i];
  return no_value;
}

/// x where v = Clip(x + 3, 0, 6).
ValueId relu6_of_plus_three(const Match& m, ValueId v) {
  const Node* clip = m.def(v, "Clip");
  if (!clip || m.uses(v) != 1 || m.scalar(clip->input(1)) != 0.0 || m.scalar(clip->input(2)) != 6.0)
    return no_value;
  return plus_three(m, clip->inputs[0]);
}

bool rewrite(Match& m) {
  const Node& n = m.node();
  ValueId rest = no_value;  // what is divided by 6 (Div) or multiplied with 1/6 (Mul)
  if (m.is("Div") && m.scalar(n.inputs[1], n.inputs[0]) == 6.0) {
    rest = n.inputs[0];
  } else if (m.is("Mul")) {
    for (std::size_t i = 0; i < 2; i++)
      if (const auto k = m.scalar(n.inputs[i], n.inputs[1 - i]);
          k && static_cast<float>(*k) == 1.0f / 6)
        rest = n.inputs[1 - i];
  }
  if (rest == no_value || m.type(n.outputs[0]).dtype != DType::f32) return false;

  Attributes attributes;
  attributes.set("alpha", 1.0f / 6);
  attributes.set("beta", 0.5f);
  if (const ValueId x = relu6_of_plus_three(m, rest); x != no_value) {
    m.replace(n.outputs[0], m.add("HardSigmoid", {x}, std::move(attributes)));
    return true;
  }
  // x * Clip(x + 3, 0, 6) / 6, as it is often written
  const Node* product = m.def(rest, "Mul");
  if (!product || m.uses(rest) != 1) return false;
  for (std::size_t i = 0; i < 2; i++) {
    const ValueId x = relu6_of_plus_three(m, product->inputs[i]);
    if (x == no_value || x != product->inputs[1 - i]) continue;
    m.replace(n.outputs[0], m.add("HardSwish", {x}));
    return true;
  }
  return false;
}

}  // namespace

extern constinit const Pass pass_fuse_hard_sigmoid = {
    .stage = Stage::fuse,
    .doc = "Clip(x + 3, 0, 6) / 6 is HardSigmoid(1/6, 1/2); with the factor x it is HardSwish.",
    .rewrite = rewrite,
    .cases = {{"(x: f32[3]) { a = Add(x, f32[]{3}) b = Clip(a, f32[]{0}, f32[]{6}) y = Div(b, "
               "f32[]{6}) return y }",
               "(x: f32[3]) { y = HardSigmoid(x, alpha=0.16666667, beta=0.5) return y }"},
              {"(x: f32[3]) { a = Add(f32[]{3}, x) b = Clip(a, f32[]{0}, f32[]{6}) c = Mul(x, b) y "
               "= Div(c, f32[]{6}) return y }",
               "(x: f32[3]) { y = HardSwish(x) return y }"},
              {"(x: f32[3]) { a = Add(x, f32[]{2}) b = Clip(a, f32[]{0}, f32[]{6}) y = Div(b, "
               "f32[]{6}) return y }",
               ""},
              {"(x: f32[3]) { a = Add(x, f32[1,1]{3}) b = Clip(a, f32[]{0}, f32[]{6}) y = Div(b, "
               "f32[]{6}) return y }",
               ""},
              {"(x: f32[N]) { a = Add(x, f32[]{3}) b = Clip(a, f32[]{0}, f32[]{6}) y = Div(b, "
               "f32[1,1]{6}) return y }",
               ""}},
};

}  // namespace longshore::passes
