#include "change/change.hpp"

namespace longshore::changes {
namespace {

bool rewrite(Match& m, const Obstacles&) {
  const Node n = m.node();
  if (m.type(n.outputs[0]).dtype != DType::f32 || m.constant(n.inputs[1])) return false;
  m.replace(n.outputs[0], m.add("Mul", {n.inputs[0], m.add("Reciprocal", {n.inputs[1]})}));
  return true;
}

bool removes(const Wanted& w) {
  return w.kind == Wanted::Kind::property && w.what == "its function" && w.from == "divide";
}

}  // namespace

extern constinit const ChangeDef change_division = {
    .doc = "A division is a product with the reciprocal, which a table gives",
    .answers = "the reciprocal is rounded to codes of its own",
    .operators = {"Div"},
    .removes = removes,
    .rewrite = rewrite,
    .cases = {{"(x: f32[2,3], d: f32[2,1]) { y = Div(x, d) return y }",
               "(x: f32[2,3], d: f32[2,1]) { a = Reciprocal(d) y = Mul(x, a) return y }",
               {{Wanted::Kind::property, "its function", "divide", "add, subtract or multiply"}}}},
};

}  // namespace longshore::changes
