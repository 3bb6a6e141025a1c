#include "ops/movement.hpp"

namespace longshore::ops::op_gather_elements {
namespace {

void infer(InferContext& c) {
  TensorType out = c.input(1);
  const TensorType x = c.input(0);
  out.dtype = x.dtype;
  if (x.ranked && out.ranked) {
    if (x.rank() != out.rank())
      c.fail("its inputs have ranks " + std::to_string(x.rank()) + " and " +
             std::to_string(out.rank()));
    if (resolve_axis(c.attributes().integer("axis", 0), x.rank()) < 0)
      c.fail("its axis is out of range for rank " + std::to_string(x.rank()));
  }
  c.output(0, out);
}

Status eval(EvalContext& c) noexcept {
  const TensorView &x = c.input(0), &indices = c.input(1);
  const int axis = resolve_axis(c.attributes.integer("axis", 0), x.shape.rank);
  if (axis < 0) return axis_out_of_range(c.attributes.integer("axis", 0), x.shape.rank);
  if (indices.shape.rank != x.shape.rank)
    return Status::error(Code::bad_argument, "the inputs differ in rank");
  for (int i = 0; i < x.shape.rank; i++)
    if (i != axis && indices.shape[i] > x.shape[i])
      return Status::error(Code::bad_argument,
                           "axis %d of the indices is longer than that of the data", i);
  MutableView y;
  LONGSHORE_TRY(c.output(0, indices.shape, y));
  const std::int64_t n = indices.elements(), size = x.shape[axis];
  const std::size_t bytes = size_bytes(x.dtype);
  const Shape strides = strides_of(x.shape);
  Shape at = indices.shape;
  for (std::int64_t& i : at) i = 0;
  for (std::int64_t i = 0; i < n; i++, next_index(at, indices.shape)) {
    std::int64_t k = int_at(indices, i), from = 0;
    if (k < -size || k >= size) return index_out_of_range(k, size);
    if (k < 0) k += size;
    for (int d = 0; d < at.rank; d++) from += (d == axis ? k : at[d]) * strides[d];
    copy_element(y.data, i, x.data, from, bytes);
  }
  return {};
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "GatherElements",
    .doc =
        "y[i][j] = x[indices[i][j]][j] for axis 0, and so on; negative indices count from the end.",
    .since = 13,
    .schema =
        {.inputs = {{"data", type_set::any, "T"},
                    {"indices", type_set::indices, {}, Presence::required, InputRole::parameter}},
         .outputs = {{"output", type_set::any, "T"}},
         .attributes = {{"axis"}}},
    .infer = infer,
    .eval = eval,
    .eval_quantised = eval,
    .facts = tensor_facts,
    .quant = Quant::same,
    .picks = true,
    .examples = {"(x: f32[3,4]) { y = GatherElements(x, i64[2,3]{0, -1, 2, -3, 1, 0}) return y }",
                 "(x: u8[2,2]) { y = GatherElements(x, i32[2,1]{1, -2}, axis=-1) return y }"},
};

}  // namespace longshore::ops::op_gather_elements
