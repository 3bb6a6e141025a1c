#include "ops/movement.hpp"

namespace longshore::ops::op_gather_nd {
namespace {

/// indices [..., k] replace the k axes after the batch axes; nothing where dims do not fit.
bool output_rank(int x, int indices, std::int64_t k, std::int64_t batch, int& rank) {
  if (indices < 1 || batch < 0 || batch >= indices || batch >= x || k < 1 || batch + k > x)
    return false;
  rank = indices - 1 + x - static_cast<int>(batch + k);
  return rank <= max_rank;
}

void infer(InferContext& c) {
  const TensorType x = c.input(0), indices = c.input(1);
  const std::int64_t batch = c.attributes().integer("batch_dims", 0);
  if (!x.ranked || !indices.ranked || indices.rank() == 0 || !indices.dims.back().known()) {
    c.output(0, TensorType::unranked(x.dtype));
    return;
  }
  const std::int64_t k = indices.dims.back().value;
  int rank = 0;
  if (!output_rank(x.rank(), indices.rank(), k, batch, rank))
    c.fail("its indices " + print(indices) + " with batch_dims " + std::to_string(batch) +
           " do not fit its data " + print(x));
  Dims out(indices.dims.begin(), indices.dims.end() - 1);
  out.insert(out.end(), x.dims.begin() + batch + k, x.dims.end());
  c.output(0, {x.dtype, out});
}

Status eval(EvalContext& c) noexcept {
  const TensorView &x = c.input(0), &indices = c.input(1);
  const std::int64_t batch = c.attributes.integer("batch_dims", 0);
  const std::int64_t k = indices.shape.rank > 0 ? indices.shape.back() : 0;
  int rank = 0;
  if (!output_rank(x.shape.rank, indices.shape.rank, k, batch, rank))
    return Status::error(Code::bad_argument, "the indices do not fit the data");
  const int first = static_cast<int>(batch), after = static_cast<int>(batch + k);
  for (int i = 0; i < first; i++)
    if (indices.shape[i] != x.shape[i])
      return Status::error(Code::bad_argument, "batch axis %d differs", i);
  Shape dims;
  for (int i = 0; i + 1 < indices.shape.rank; i++) dims.push(indices.shape[i]);
  for (int i = after; i < x.shape.rank; i++) dims.push(x.shape[i]);
  MutableView y;
  LONGSHORE_TRY(c.output(0, dims, y));
  const std::int64_t rows = indices.shape.product(0, indices.shape.rank - 1),
                     batches = x.shape.product(0, first);
  const std::int64_t inner =
      x.shape.product(after, x.shape.rank) * static_cast<std::int64_t>(size_bytes(x.dtype));
  const std::int64_t each = x.shape.product(first, after);
  for (std::int64_t row = 0; row < rows; row++) {
    std::int64_t at = 0;
    for (std::int64_t j = 0; j < k; j++) {
      std::int64_t i = int_at(indices, row * k + j);
      const std::int64_t size = x.shape[first + static_cast<int>(j)];
      if (i < -size || i >= size) return index_out_of_range(i, size);
      at = at * size + (i < 0 ? i + size : i);
    }
    at += row / (rows / batches) * each;
    if (inner > 0)
      std::memcpy(y.as<std::byte>() + row * inner, x.as<std::byte>() + at * inner,
                  static_cast<std::size_t>(inner));
  }
  return {};
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "GatherND",
    .doc = "The slices that the rows of indices name; negative indices count from the end.",
    .since = 13,
    .schema =
        {.inputs = {{"data", type_set::any, "T"},
                    {"indices", type_set::int64, {}, Presence::required, InputRole::parameter}},
         .outputs = {{"output", type_set::any, "T"}},
         .attributes = {{"batch_dims"}}},
    .infer = infer,
    .eval = eval,
    .eval_quantised = eval,
    .facts = tensor_facts,
    .quant = Quant::same,
    .picks = true,
    .examples = {"(x: f32[3,4]) { y = GatherND(x, i64[2,2]{-1, -1, 0, -2}) return y }",
                 "(x: i32[2,3,N]) { y = GatherND(x, i64[2,1]{2, -3}, batch_dims=1) return y }"},
};

}  // namespace longshore::ops::op_gather_nd
