#include <algorithm>

#include "optimize/passes/rearrange.hpp"

namespace longshore::passes {
namespace {

/// The one bit pattern that all elements of a constant have, or nothing.
std::optional<Tensor> filling(const Match& m, ValueId v) {
  const Tensor* t = m.constant(v);
  if (!t || m.type(v).quantised() || t->dtype != DType::f32 || t->elements() == 0) return {};
  const auto values = t->values<float>();
  if (!std::ranges::all_of(values, [&](float x) { return x == values[0]; })) return {};
  return make_floats(Shape{}, values.first(1));
}

/// Whether both fill with the same number, sign of zero included.
bool equal(const Tensor& a, const Tensor& b) {
  return std::bit_cast<std::uint32_t>(a.values<float>()[0]) ==
         std::bit_cast<std::uint32_t>(b.values<float>()[0]);
}

bool rewrite(Match& m) {
  const Node& n = m.node();
  if (!m.is("Concat") || n.inputs.size() < 2) return false;
  const TensorType& y = m.type(n.outputs[0]);
  if (!y.ranked || y.rank() < 1) return false;
  const std::int64_t given = n.attributes.integer("axis");
  const auto axis = static_cast<std::size_t>(given < 0 ? given + y.rank() : given);
  std::optional<std::size_t> computed;
  std::optional<Tensor> fill;
  std::int64_t before = 0, after = 0;
  for (std::size_t i = 0; i < n.inputs.size(); i++) {
    if (!m.constant(n.inputs[i])) {
      if (computed) return false;
      computed = i;
      continue;
    }
    const std::optional<Tensor> here = filling(m, n.inputs[i]);
    if (!here || (fill && !equal(*fill, *here))) return false;
    fill = here;
    (computed ? after : before) += m.constant(n.inputs[i])->shape[static_cast<int>(axis)];
  }
  if (!computed || !fill) return false;
  Ints pads(2 * static_cast<std::size_t>(y.rank()));
  pads[axis] = before;
  pads[static_cast<std::size_t>(y.rank()) + axis] = after;
  const ValueId amounts = add_integers(m, pads);
  m.replace(n.outputs[0],
            m.add("Pad", {n.inputs[*computed], amounts, m.add_constant(std::move(*fill))}));
  return true;
}

}  // namespace

extern constinit const Pass pass_concat_to_pad = {
    .stage = Stage::simplify,
    .doc = "A Concat of one computed tensor with constants of one number is a Pad.",
    .rewrite = rewrite,
    .cases = {{"(x: f32[1,2,4]) { y = Concat(f32[1,1,4]{0}, x, f32[1,3,4]{0}, axis=-2) return y }",
               "(x: f32[1,2,4]) { y = Pad(x, i64[6]{0, 1, 0, 0, 3, 0}, f32[]{0}) return y }"},
              {"(x: f32[1,N]) { y = Concat(x, f32[1,2]{7, 7}, axis=1) return y }",
               "(x: f32[1,N]) { y = Pad(x, i64[4]{0, 0, 0, 2}, f32[]{7}) return y }"},
              {"(x: f32[1,2]) { y = Concat(x, f32[1,2]{7, 8}, axis=1) return y }", ""},
              {"(x: f32[1,2]) { y = Concat(f32[1,2]{1}, x, f32[1,2]{2}, axis=1) return y }", ""},
              {"(x: f32[1,2]) { y = Concat(x, f32[1,2]{0}, x, axis=1) return y }", ""}},
};

}  // namespace longshore::passes
