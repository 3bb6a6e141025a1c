#include "ir/pass.hpp"

namespace longshore::passes {
namespace {

Ints permutation(const Node& n, int rank) {
  const auto given = n.attributes.integers("perm");
  Ints perm(given.begin(), given.end());
  if (perm.empty())
    for (int i = rank; i-- > 0;) perm.push_back(i);
  return perm;
}
bool is_identity(const Ints& perm) {
  for (std::size_t i = 0; i < perm.size(); i++)
    if (perm[i] != static_cast<std::int64_t>(i)) return false;
  return true;
}

bool rewrite(Match& m) {
  const Node& n = m.node();
  if (!m.is("Transpose") || !m.type(n.inputs[0]).ranked) return false;
  const int rank = m.type(n.inputs[0]).rank();
  const Ints second = permutation(n, rank);
  if (is_identity(second)) {
    m.replace(n.outputs[0], n.inputs[0]);
    return true;
  }
  const Node* before = m.def(n.inputs[0], "Transpose");
  if (!before || second.size() != static_cast<std::size_t>(rank)) return false;
  const Ints first = permutation(*before, rank);
  Ints both;
  for (std::int64_t axis : second) both.push_back(first[static_cast<std::size_t>(axis)]);
  const ValueId x = before->inputs[0];
  if (is_identity(both)) {
    m.replace(n.outputs[0], x);
  } else {
    Attributes attributes;
    attributes.set("perm", both);
    m.replace(n.outputs[0], m.add("Transpose", {x}, std::move(attributes)));
  }
  return true;
}

}  // namespace

extern constinit const Pass pass_merge_transposes = {
    .doc = "Two Transposes are one or none; one that moves no axis is none.",
    .rewrite = rewrite,
    .cases =
        {{"(x: f32[1,3,4,5]) { a = Transpose(x, perm=[0, 2, 3, 1]) b = Transpose(a, perm=[0, "
          "3, 1, 2]) y = Relu(b) return y }",
          "(x: f32[1,3,4,5]) { y = Relu(x) return y }"},
         {"(x: f32[2,3,4]) { a = Transpose(x, perm=[1, 2, 0]) y = Transpose(a, perm=[1, 2, "
          "0]) return y }",
          "(x: f32[2,3,4]) { y = Transpose(x, perm=[2, 0, 1]) return y }"},
         {"(x: i8[2,3,4] q(0.5, 3)) { a: i8[3,4,2] q(0.5, 3) = Transpose(x, perm=[1, 2, 0]) y: "
          "i8[4,2,3] q(0.5, 3) = Transpose(a, perm=[1, 2, 0]) return y }",
          "(x: i8[2,3,4] q(0.5, 3)) { y: i8[4,2,3] q(0.5, 3) = Transpose(x, perm=[2, 0, 1]) "
          "return y }"},
         {"(x: f32[2,3]) { a = Transpose(x) b = Transpose(a) y = Relu(b) return y }",
          "(x: f32[2,3]) { y = Relu(x) return y }"}},
};

}  // namespace longshore::passes
