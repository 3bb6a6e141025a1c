#include "change/change.hpp"

namespace longshore::changes {
namespace {

/// max(a, b) == a + relu(b - a).
bool rewrite(Match& m, const Obstacles&) {
  const Node n = m.node();
  if (n.inputs.size() != 2 || m.type(n.outputs[0]).dtype != DType::f32) return false;
  const ValueId above = m.add("Relu", {m.add("Sub", {n.inputs[1], n.inputs[0]})});
  m.replace(n.outputs[0], m.add("Add", {n.inputs[0], above}));
  return true;
}

bool removes(const Wanted& w) {
  return w.kind == Wanted::Kind::property && w.what == "its function" && w.from == "maximum";
}

}  // namespace

extern constinit const ChangeDef change_maximum = {
    .doc = "The greater of two is the first and what the second has above it",
    .answers = "the difference is rounded to codes of its own",
    .operators = {"Max"},
    .removes = removes,
    .rewrite = rewrite,
    .cases = {{"(x: f32[2,3], z: f32[3]) { y = Max(x, z) return y }",
               "(x: f32[2,3], z: f32[3]) { a = Sub(z, x) b = Relu(a) y = Add(x, b) return y }",
               {{Wanted::Kind::property, "its function", "maximum", "add, subtract or multiply"}}},
              {"(x: f32[2], z: f32[2], w: f32[2]) { y = Max(x, z, w) return y }",
               "",
               {{Wanted::Kind::property, "its function", "maximum", "add, subtract or multiply"}}}},
};

}  // namespace longshore::changes
