#include <algorithm>

#include "ir/pass.hpp"

namespace longshore::passes {
namespace {

bool only_dims(const Node& n) {
  for (std::string_view op : {"Reshape", "Flatten", "Squeeze", "Unsqueeze"})
    if (Match::is(n, op)) return true;
  return false;
}

bool rewrite(Match& m) {
  const Node& n = m.node();
  if (!only_dims(n)) return false;
  const Node* before = m.graph().def(n.inputs[0]);
  if (!before || !only_dims(*before)) return false;
  const std::optional<Shape> shape = m.type(n.outputs[0]).shape();
  if (!shape) return false;
  const ValueId x = before->inputs[0];
  Attributes attributes;
  if (std::find(shape->begin(), shape->end(), 0) != shape->end())
    attributes.set("allowzero", std::int64_t{1});
  const Ints dims(shape->begin(), shape->end());
  m.replace(n.outputs[0],
            m.add("Reshape", {x, m.add_constant(make_ints(dims))}, std::move(attributes)));
  return true;
}

}  // namespace

extern constinit const Pass pass_merge_reshapes = {
    .doc =
        "Of several Reshapes, Flattens, Squeezes and Unsqueezes in a row only the last dims count, "
        "where they are known.",
    .rewrite = rewrite,
    .cases = {{"(x: f32[2,3,4]) { a = Reshape(x, i64[2]{6, 4}) b = Unsqueeze(a, i64[1]{0}) y = "
               "Relu(b) return y }",
               "(x: f32[2,3,4]) { a = Reshape(x, i64[3]{1, 6, 4}) y = Relu(a) return y }"},
              {"(x: f32[N,3,4]) { a = Reshape(x, i64[2]{-1, 12}) b = Unsqueeze(a, i64[1]{0}) y = "
               "Relu(b) return y }",
               ""}},
};

}  // namespace longshore::passes
