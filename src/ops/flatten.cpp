#include "ops/movement.hpp"

namespace longshore::ops::op_flatten {
namespace {

/// The axis in [0, rank]; -1 where it is out of range.
int split_axis(const Attributes& a, int rank) {
  std::int64_t axis = a.integer("axis", 1);
  if (axis < 0) axis += rank;
  return axis >= 0 && axis <= rank ? static_cast<int>(axis) : -1;
}

Dim product(const Dims& dims, int from, int to) {
  Dim out(1);
  for (int i = from; i < to; i++) {
    const Dim& d = dims[static_cast<std::size_t>(i)];
    if (out.known() && out.value == 1)
      out = d;
    else if (d.known() && d.value == 1)
      continue;
    else if (!out.known() || !d.known() || __builtin_mul_overflow(out.value, d.value, &out.value))
      return {};
  }
  return out;
}

void infer(InferContext& c) {
  const TensorType x = c.input(0);
  if (!x.ranked) {
    c.output(0, unknown_dims(x.dtype, 2));
    return;
  }
  const int axis = split_axis(c.attributes(), x.rank());
  if (axis < 0) c.fail("its axis is out of range for rank " + std::to_string(x.rank()));
  c.output(0, {x.dtype, Dims{product(x.dims, 0, axis), product(x.dims, axis, x.rank())}});
}

Status eval(EvalContext& c) noexcept {
  const Shape& x = c.input(0).shape;
  const int axis = split_axis(c.attributes, x.rank);
  if (axis < 0) return axis_out_of_range(c.attributes.integer("axis", 1), x.rank);
  return copy_as(c, {x.product(0, axis), x.product(axis, x.rank)});
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "Flatten",
    .doc = "A matrix: the dims before the axis are its rows, the others its columns.",
    .since = 25,
    .schema = {.inputs = {{"input", type_set::any, "T"}},
               .outputs = {{"output", type_set::any, "T"}},
               .attributes = {{"axis"}}},
    .infer = infer,
    .eval = eval,
    .eval_quantised = eval,
    .facts = tensor_facts,
    .quant = Quant::same,
    .channels = Channels::flattens,
    .form = view_form,
    .view = true,
    .examples = {"(x: f32[N,3,4]) { y = Flatten(x) return y }",
                 "(x: f32[2,3,4]) { y = Flatten(x, axis=-1) return y }",
                 "(x: i64[2,3]) { y = Flatten(x, axis=0) return y }"},
};

}  // namespace longshore::ops::op_flatten
