#include "ops/movement.hpp"

namespace longshore::ops::op_size {
namespace {

void infer(InferContext& c) {
  c.output(0, TensorType(DType::i64, Shape{}));
  if (const std::optional<Shape> shape = c.input(0).shape())
    if (const std::int64_t n = checked_elements(*shape); n >= 0) c.value(0, make_int(n));
}

Status eval(EvalContext& c) noexcept {
  MutableView y;
  LONGSHORE_TRY(c.output(0, {}, y));
  y.as<std::int64_t>()[0] = c.input(0).elements();
  return {};
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "Size",
    .doc = "The number of elements.",
    .since = 25,
    .schema = {.inputs = {{"data"}}, .outputs = {{"size", type_set::int64}}},
    .infer = infer,
    .eval = eval,
    .examples = {"(x: f32[N,3]) { y = Size(x) return y }"},
};

}  // namespace longshore::ops::op_size
