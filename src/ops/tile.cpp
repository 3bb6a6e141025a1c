#include "ops/movement.hpp"

namespace longshore::ops::op_tile {
namespace {

void infer(InferContext& c) {
  TensorType x = c.input(0);
  const std::optional<Ints> repeats = c.integers(1);
  if (!x.ranked || !repeats) {
    c.output(0, x.ranked ? unknown_dims(x.dtype, x.rank()) : x);
    return;
  }
  if (static_cast<int>(repeats->size()) != x.rank())
    c.fail("repeats has " + std::to_string(repeats->size()) + " entries for rank " +
           std::to_string(x.rank()));
  for (std::size_t i = 0; i < x.dims.size(); i++) {
    Dim& d = x.dims[i];
    const std::int64_t r = (*repeats)[i];
    if (r < 0) c.fail("repeats has the entry " + std::to_string(r));
    if (r == 1) continue;
    std::int64_t n = 0;
    if (d.known() && __builtin_mul_overflow(d.value, r, &n)) c.fail("its output is too large");
    d = d.known() ? Dim(n) : r == 0 ? Dim(0) : Dim();
  }
  c.output(0, x);
}

Status eval(EvalContext& c) noexcept {
  const TensorView& x = c.input(0);
  IntList repeats;
  LONGSHORE_TRY(read_ints(c.input(1), max_rank, "repeats", repeats));
  if (repeats.count != x.shape.rank)
    return Status::error(Code::bad_argument, "repeats has %d entries for rank %d", repeats.count,
                         x.shape.rank);
  Shape dims = x.shape;
  for (int i = 0; i < dims.rank; i++)
    if (repeats[i] < 0 || __builtin_mul_overflow(dims[i], repeats[i], &dims[i]))
      return Status::error(Code::bad_argument, "repeats has the entry %lld",
                           static_cast<long long>(repeats[i]));
  MutableView y;
  LONGSHORE_TRY(c.output(0, dims, y));
  if (dims.elements() == 0) return {};
  // One copy of x for each position among the repeats.
  const auto size = static_cast<std::int64_t>(size_bytes(x.dtype));
  const Shape from = strides_of(x.shape), to = strides_of(dims);
  Shape counts, at;
  for (int i = 0; i < dims.rank; i++) counts.push(repeats[i]), at.push(0);
  do {
    std::int64_t start = 0;
    for (int i = 0; i < dims.rank; i++) start += at[i] * x.shape[i] * to[i];
    copy_strided(x.shape, static_cast<std::size_t>(size), x.data, from,
                 y.as<std::byte>() + start * size, to);
  } while (next_index(at, counts));
  return {};
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "Tile",
    .doc = "Repeats the whole tensor along each axis.",
    .since = 13,
    .schema =
        {.inputs = {{"input", type_set::any, "T"},
                    {"repeats", type_set::int64, {}, Presence::required, InputRole::parameter}},
         .outputs = {{"output", type_set::any, "T"}}},
    .infer = infer,
    .eval = eval,
    .eval_quantised = eval,
    .facts = tensor_facts,
    .quant = Quant::same,
    .examples = {"(x: f32[N,3]) { y = Tile(x, i64[2]{1, 2}) return y }",
                 "(x: i64[2]) { y = Tile(x, i64[1]{3}) return y }"},
};

}  // namespace longshore::ops::op_tile
