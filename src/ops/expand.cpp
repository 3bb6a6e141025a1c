#include "ops/elementwise.hpp"
#include "ops/movement.hpp"

namespace longshore::ops::op_expand {
namespace {

void infer(InferContext& c) {
  const TensorType x = c.input(0);
  const std::optional<Ints> wanted = c.integers(1);
  if (!wanted) {
    const std::optional<Shape> length = c.input(1).shape();
    if (x.ranked && length && length->elements() <= max_rank)
      c.output(0, unknown_dims(x.dtype, std::max(x.rank(), static_cast<int>(length->elements()))));
    else
      c.output(0, TensorType::unranked(x.dtype));
    return;
  }
  if (wanted->size() > max_rank)
    c.fail("its shape has " + std::to_string(wanted->size()) + " entries; at most 8 are supported");
  Dims to;
  for (std::int64_t d : *wanted) {
    if (d < 0) c.fail("its shape has the entry " + std::to_string(d));
    to.emplace_back(d);
  }
  if (!x.ranked) {
    c.output(0, TensorType::unranked(x.dtype));
    return;
  }
  const std::optional<Dims> out = broadcast_dims(x.dims, to);
  if (!out)
    c.fail("its input " + print(x) + " cannot be broadcast to " +
           print(TensorType(DType::undefined, to)));
  c.output(0, {x.dtype, *out});
}

Status eval(EvalContext& c) noexcept {
  const TensorView& x = c.input(0);
  IntList wanted;
  LONGSHORE_TRY(read_ints(c.input(1), max_rank, "the shape", wanted));
  Shape to, dims;
  for (std::int64_t d : wanted) {
    if (d < 0)
      return Status::error(Code::bad_argument, "the shape has the entry %lld",
                           static_cast<long long>(d));
    to.push(d);
  }
  if (!broadcast_shape(x.shape, to, dims)) return cannot_broadcast();
  MutableView y;
  LONGSHORE_TRY(c.output(0, dims, y));
  copy_strided(dims, size_bytes(x.dtype), x.data, broadcast_strides(x.shape, dims), y.data,
               strides_of(dims));
  return {};
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "Expand",
    .doc = "Repeats axes of size 1 as numpy's broadcasting with a tensor of this shape would.",
    .since = 13,
    .schema = {.inputs = {{"input", type_set::any, "T"},
                          {"shape", type_set::int64, {}, Presence::required, InputRole::parameter}},
               .outputs = {{"output", type_set::any, "T"}}},
    .infer = infer,
    .eval = eval,
    .eval_quantised = eval,
    .facts = tensor_facts,
    .quant = Quant::same,
    .examples = {"(x: f32[3,1]) { y = Expand(x, i64[3]{2, 1, 4}) return y }",
                 "(x: bool[N,1]) { y = Expand(x, i64[2]{1, 0}) return y }"},
};

}  // namespace longshore::ops::op_expand
