#include "ops/scatter.hpp"

namespace longshore::ops::op_scatter_nd {
namespace {

void infer(InferContext& c) {
  ScatterReduction reduction{};
  if (const Status s = reduction_of(c.attributes(), reduction); !s.ok()) c.fail(s.text());
  c.output(0, c.input(0));
}

Status eval(EvalContext& c) noexcept {
  const TensorView &x = c.input(0), &indices = c.input(1), &updates = c.input(2);
  const std::int64_t k = indices.shape.rank > 0 ? indices.shape.back() : -1;
  if (k < 0 || k > x.shape.rank)
    return Status::error(Code::bad_argument, "the indices do not fit the data");
  const int depth = static_cast<int>(k);
  Shape wanted;
  if (indices.shape.rank - 1 + x.shape.rank - depth > max_rank)
    return Status::error(Code::unsupported, "updates of more than 8 dimensions");
  for (int i = 0; i + 1 < indices.shape.rank; i++) wanted.push(indices.shape[i]);
  for (int i = depth; i < x.shape.rank; i++) wanted.push(x.shape[i]);
  if (!(updates.shape == wanted))
    return Status::error(Code::bad_argument,
                         "the updates do not have the dims that indices and data require");
  Combine combine = nullptr;
  LONGSHORE_TRY(combine_for(c.attributes, x.dtype, combine));
  MutableView y;
  LONGSHORE_TRY(start_from_data(c, y));
  const std::int64_t rows = indices.shape.product(0, indices.shape.rank - 1),
                     inner = x.shape.product(depth, x.shape.rank);
  const auto bytes = static_cast<std::int64_t>(size_bytes(x.dtype));
  for (std::int64_t row = 0; row < rows; row++) {
    std::int64_t at = 0;
    for (int j = 0; j < depth; j++) {
      const std::int64_t i = int_at(indices, row * k + j), size = x.shape[j];
      if (i < -size || i >= size) return index_out_of_range(i, size);
      at = at * size + (i < 0 ? i + size : i);
    }
    put(combine, y.as<std::byte>() + at * inner * bytes,
        updates.as<std::byte>() + row * inner * bytes, inner, static_cast<std::size_t>(bytes));
  }
  return {};
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "ScatterND",
    .doc =
        "A copy of data whose slices named by the rows of indices are replaced by, or combined "
        "with, the updates.",
    .since = 18,
    .schema = {.inputs = {{"data", type_set::any, "T"},
                          {"indices", type_set::int64},
                          {"updates", type_set::any, "T"}},
               .outputs = {{"output", type_set::any, "T"}},
               .attributes = {{"reduction", AttributeKind::text}}},
    .infer = infer,
    .eval = eval,
    .facts = tensor_facts,
    .examples = {"(x: f32[3,4], u: f32[2,4]) { y = ScatterND(x, i64[2,1]{-1, 0}, u, "
                 "reduction=\"max\") return y }",
                 "(x: bool[2,2], u: bool[1]) { y = ScatterND(x, i64[1,2]{1, -2}, u) return y }"},
};

}  // namespace longshore::ops::op_scatter_nd
