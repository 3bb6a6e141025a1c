#include "ops/scatter.hpp"

namespace longshore::ops::op_scatter_elements {
namespace {

void infer(InferContext& c) {
  ScatterReduction reduction{};
  if (const Status s = reduction_of(c.attributes(), reduction); !s.ok()) c.fail(s.text());
  const TensorType x = c.input(0);
  if (x.ranked && resolve_axis(c.attributes().integer("axis", 0), x.rank()) < 0)
    c.fail("its axis is out of range for rank " + std::to_string(x.rank()));
  c.output(0, x);
}

Status eval(EvalContext& c) noexcept {
  const TensorView &x = c.input(0), &indices = c.input(1), &updates = c.input(2);
  const int axis = resolve_axis(c.attributes.integer("axis", 0), x.shape.rank);
  if (axis < 0) return axis_out_of_range(c.attributes.integer("axis", 0), x.shape.rank);
  if (indices.shape.rank != x.shape.rank || !(updates.shape == indices.shape))
    return Status::error(Code::bad_argument,
                         "indices and updates must have the same dims and the rank of the data");
  for (int i = 0; i < x.shape.rank; i++)
    if (i != axis && indices.shape[i] > x.shape[i])
      return Status::error(Code::bad_argument,
                           "axis %d of the indices is longer than that of the data", i);
  Combine combine = nullptr;
  LONGSHORE_TRY(combine_for(c.attributes, x.dtype, combine));
  MutableView y;
  LONGSHORE_TRY(start_from_data(c, y));
  const std::int64_t n = indices.elements(), size = x.shape[axis];
  const auto bytes = static_cast<std::int64_t>(size_bytes(x.dtype));
  const Shape strides = strides_of(x.shape);
  Shape at = indices.shape;
  for (std::int64_t& i : at) i = 0;
  for (std::int64_t i = 0; i < n; i++, next_index(at, indices.shape)) {
    std::int64_t k = int_at(indices, i), to = 0;
    if (k < -size || k >= size) return index_out_of_range(k, size);
    if (k < 0) k += size;
    for (int d = 0; d < at.rank; d++) to += (d == axis ? k : at[d]) * strides[d];
    put(combine, y.as<std::byte>() + to * bytes, updates.as<std::byte>() + i * bytes, 1,
        static_cast<std::size_t>(bytes));
  }
  return {};
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "ScatterElements",
    .doc =
        "A copy of data in which y[indices[i][j]][j] = updates[i][j] for axis 0, and so on, or is "
        "combined with it.",
    .since = 18,
    .schema = {.inputs = {{"data", type_set::any, "T"},
                          {"indices", type_set::indices},
                          {"updates", type_set::any, "T"}},
               .outputs = {{"output", type_set::any, "T"}},
               .attributes = {{"axis"}, {"reduction", AttributeKind::text}}},
    .infer = infer,
    .eval = eval,
    .facts = tensor_facts,
    .examples = {"(x: f32[3,4], u: f32[2,2]) { y = ScatterElements(x, i64[2,2]{0, -1, 2, 1}, u, "
                 "axis=1) return y }",
                 "(x: u8[5], u: u8[3]) { y = ScatterElements(x, i32[3]{1, 1, -2}, u, "
                 "reduction=\"add\") return y }"},
};

}  // namespace longshore::ops::op_scatter_elements
