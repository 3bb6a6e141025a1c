#include <algorithm>

#include "ir/pass.hpp"

namespace longshore::passes {
namespace {

std::optional<Ints> integers(const Match& m, ValueId v) {
  const Tensor* t = m.constant(v);
  if (!t || t->dtype != DType::i64) return {};
  const auto values = t->values<std::int64_t>();
  return Ints(values.begin(), values.end());
}

bool rewrite(Match& m) {
  const Node& n = m.node();
  if (!m.is("Conv") && !m.is("com.microsoft.FusedConv")) return false;
  const Node* pad = m.def(n.inputs[0], "Pad");
  if (!pad || m.uses(n.inputs[0]) != 1 || pad->attributes.text("mode", "constant") != "constant")
    return false;
  if (pad->input(3) != no_value || n.attributes.text("auto_pad", "NOTSET") != "NOTSET")
    return false;
  if (pad->input(2) != no_value && m.scalar(pad->input(2)) != 0.0) return false;
  const std::optional<Ints> amounts = integers(m, pad->input(1));
  const auto rank = static_cast<std::size_t>(m.type(n.inputs[0]).rank());
  if (!amounts || rank < 3 || amounts->size() != 2 * rank) return false;
  if (std::any_of(amounts->begin(), amounts->end(), [](std::int64_t a) { return a < 0; }))
    return false;
  for (std::size_t axis = 0; axis < 2; axis++)
    if ((*amounts)[axis] != 0 || (*amounts)[rank + axis] != 0) return false;
  const auto old = n.attributes.integers("pads");
  const std::size_t spatial = rank - 2;
  Ints pads(2 * spatial);
  for (std::size_t i = 0; i < spatial; i++) {
    pads[i] = (*amounts)[2 + i] + (old.empty() ? 0 : old[i]);
    pads[spatial + i] = (*amounts)[rank + 2 + i] + (old.empty() ? 0 : old[spatial + i]);
  }
  Node conv = n;
  conv.inputs[0] = pad->inputs[0];
  conv.attributes.set("pads", pads);
  m.replace(n.outputs[0], m.add_node(std::move(conv)));
  return true;
}

}  // namespace

extern constinit const Pass pass_pad_into_conv = {
    .stage = Stage::fuse,
    .doc = "Zeros that Pad puts around the pixels become the Conv's own padding.",
    .rewrite = rewrite,
    .cases = {{"(x: f32[1,1,4,4]) { a = Pad(x, i64[8]{0, 0, 1, 2, 0, 0, 3, 0}) y = Conv(a, "
               "f32[1,1,1,1]{2}) return y }",
               "(x: f32[1,1,4,4]) { y = Conv(x, f32[1,1,1,1]{2}, pads=[1, 2, 3, 0]) return y }"},
              {"(x: f32[1,1,4,4]) { a = Pad(x, i64[8]{0, 0, 1, 1, 0, 0, 1, 1}, f32[]{1}) y = "
               "Conv(a, f32[1,1,1,1]{2}) return y }",
               ""},
              {"(x: f32[1,1,4,4]) { a = Pad(x, i64[8]{0, 0, 1, 1, 0, 0, 1, 1}) y = MaxPool(a, "
               "kernel_shape=[2, 2]) return y }",
               ""}},
};

}  // namespace longshore::passes
