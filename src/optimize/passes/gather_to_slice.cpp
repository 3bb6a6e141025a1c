#include "optimize/passes/rearrange.hpp"

namespace longshore::passes {
namespace {

/// Constant indices as places of an axis of `size`; nothing where one is outside of it.
std::optional<Ints> places(const Tensor& indices, std::int64_t size) {
  Ints out;
  const auto add = [&](std::int64_t i) { out.push_back(i < 0 ? i + size : i); };
  if (indices.dtype == DType::i64)
    for (std::int64_t i : indices.values<std::int64_t>()) add(i);
  else if (indices.dtype == DType::i32)
    for (std::int32_t i : indices.values<std::int32_t>()) add(i);
  for (std::int64_t i : out)
    if (i < 0 || i >= size) return {};
  return out.empty() ? std::nullopt : std::optional(out);
}

/// The step from each place to the next, where it is the same, upwards.
std::optional<std::int64_t> even_step(const Ints& at) {
  const std::int64_t step = at.size() > 1 ? at[1] - at[0] : 1;
  for (std::size_t i = 1; i < at.size(); i++)
    if (at[i] - at[i - 1] != step) return {};
  return step > 0 ? std::optional(step) : std::nullopt;
}

bool rewrite(Match& m) {
  const Node& n = m.node();
  if (!m.is("Gather")) return false;
  const TensorType& x = m.type(n.inputs[0]);
  const Tensor* indices = m.constant(n.inputs[1]);
  if (!indices || indices->shape.rank > 1 || !x.ranked || x.quantised() ||
      !type_set::float_types.has(x.dtype) || m.constant(n.inputs[0]))
    return false;
  const int axis = resolve_axis(n.attributes.integer("axis", 0), x.rank());
  if (axis < 0 || !x.dims[static_cast<std::size_t>(axis)].known()) return false;
  const std::optional<Ints> at = places(*indices, x.dims[static_cast<std::size_t>(axis)].value);
  const std::optional<std::int64_t> step = at ? even_step(*at) : std::nullopt;
  if (!step) return false;
  const bool one = indices->shape.rank == 0;
  ValueId part = m.add(
      "Slice", {n.inputs[0], add_integers(m, {at->front()}), add_integers(m, {at->back() + 1}),
                add_integers(m, {axis}), add_integers(m, {*step})});
  if (one) part = m.add("Squeeze", {part, add_integers(m, {axis})});
  m.replace(n.outputs[0], part);
  return true;
}

}  // namespace

extern constinit const Pass pass_gather_to_slice = {
    .doc =
        "Gather of constant places that rise evenly is a Slice, without the axis where there is "
        "one place and no list of them.",
    .rewrite = rewrite,
    .cases = {{"(x: f32[2,5,3]) { y = Gather(x, i64[2]{1, -1}, axis=1) return y }",
               "(x: f32[2,5,3]) { y = Slice(x, i64[1]{1}, i64[1]{5}, i64[1]{1}, i64[1]{3}) return "
               "y }"},
              {"(x: f32[N,5,3]) { y = Gather(x, i32[]{-4}, axis=1) return y }",
               "(x: f32[N,5,3]) { a = Slice(x, i64[1]{1}, i64[1]{2}, i64[1]{1}, i64[1]{1}) y = "
               "Squeeze(a, i64[1]{1}) return y }"},
              {"(x: f32[2,5]) { y = Gather(x, i64[3]{0, 1, 3}, axis=1) return y }", ""},
              {"(x: f32[2,5]) { y = Gather(x, i64[2]{3, 1}, axis=1) return y }", ""},
              {"(x: f32[N,5]) { y = Gather(x, i64[]{0}) return y }", ""},
              {"(x: i64[5]) { y = Gather(x, i64[]{0}) return y }", ""}},
};

}  // namespace longshore::passes
