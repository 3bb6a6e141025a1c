#include <algorithm>

#include "ir/pass.hpp"

namespace longshore::passes {
namespace {

bool rewrite(Match& m) {
  const Node& n = m.node();
  if (!m.is("Concat")) return false;
  const TensorType& y = m.type(n.outputs[0]);
  if (!y.ranked) return false;
  const auto axis_of = [&](const Node& node) {
    const std::int64_t axis = node.attributes.integer("axis");
    return axis < 0 ? axis + y.rank() : axis;
  };
  std::vector<ValueId> inputs;
  for (std::size_t i = 0; i < n.inputs.size();) {
    const Node* split = m.def(n.inputs[i], "Split");
    const std::size_t parts = split ? split->outputs.size() : 0;
    const bool whole = split && axis_of(*split) == axis_of(n) && i + parts <= n.inputs.size() &&
                       std::equal(split->outputs.begin(), split->outputs.end(),
                                  n.inputs.begin() + static_cast<std::ptrdiff_t>(i));
    inputs.push_back(whole ? split->inputs[0] : n.inputs[i]);
    i += whole ? parts : 1;
  }
  if (inputs.size() == n.inputs.size() &&
      std::equal(inputs.begin(), inputs.end(), n.inputs.begin()))
    return false;
  m.replace(n.outputs[0], m.add("Concat", std::move(inputs), n.attributes));
  return true;
}

}  // namespace

extern constinit const Pass pass_join_split = {
    .stage = Stage::simplify,
    .doc = "All parts of a Split side by side in a Concat are what was split.",
    .rewrite = rewrite,
    .cases =
        {{"(x: f32[2,6]) { a, b = Split(x, axis=1, num_outputs=2) c = Relu(b) y = Concat(a, b, c, "
          "axis=-1) return y }",
          "(x: f32[2,6]) { a, b = Split(x, axis=1, num_outputs=2) c = Relu(b) y = Concat(x, c, "
          "axis=-1) return y }"},
         {"(x: f32[2,6]) { a, b = Split(x, axis=1, num_outputs=2) y = Concat(b, a, axis=1) return "
          "y }",
          ""},
         {"(x: f32[2,6]) { a, b = Split(x, axis=1, num_outputs=2) y = Concat(a, b, axis=0) return "
          "y }",
          ""}},
};

}  // namespace longshore::passes
