#include "ops/movement.hpp"

namespace longshore::ops::op_compress {
namespace {

void infer(InferContext& c) {
  TensorType x = c.input(0);
  if (!c.attributes().has("axis")) {
    c.output(0, unknown_dims(x.dtype, 1));
    return;
  }
  if (x.ranked) {
    const int axis = resolve_axis(c.attributes().integer("axis"), x.rank());
    if (axis < 0) c.fail("its axis is out of range for rank " + std::to_string(x.rank()));
    x.dims[static_cast<std::size_t>(axis)] = Dim();
  }
  c.output(0, x);
}

Status eval(EvalContext& c) noexcept {
  const TensorView &x = c.input(0), &condition = c.input(1);
  const bool flat = !c.attributes.has("axis");
  const int axis = flat ? 0 : resolve_axis(c.attributes.integer("axis"), x.shape.rank);
  if (axis < 0) return axis_out_of_range(c.attributes.integer("axis"), x.shape.rank);
  const std::int64_t length = flat ? x.elements() : x.shape[axis],
                     tests = std::min(length, condition.elements());
  std::int64_t kept = 0;
  for (std::int64_t i = 0; i < tests; i++) kept += condition.as<Bool8>()[i] ? 1 : 0;
  Shape dims = flat ? Shape{kept} : x.shape;
  dims[axis] = kept;
  MutableView y;
  LONGSHORE_TRY(c.output(0, dims, y));
  const auto size = static_cast<std::int64_t>(size_bytes(x.dtype));
  const std::int64_t outer = flat ? 1 : x.shape.product(0, axis),
                     inner = flat ? size : x.shape.product(axis + 1, x.shape.rank) * size;
  for (std::int64_t o = 0; o < outer; o++)
    for (std::int64_t i = 0, to = 0; i < tests; i++) {
      if (!condition.as<Bool8>()[i]) continue;
      if (inner > 0)
        std::memcpy(y.as<std::byte>() + (o * kept + to) * inner,
                    x.as<std::byte>() + (o * length + i) * inner, static_cast<std::size_t>(inner));
      to++;
    }
  return {};
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "Compress",
    .doc =
        "The slices of the axis (or the elements of the flattened tensor) whose condition holds.",
    .since = 11,
    .schema = {.inputs = {{"input", type_set::any, "T"}, {"condition", type_set::boolean}},
               .outputs = {{"output", type_set::any, "T"}},
               .attributes = {{"axis"}}},
    .infer = infer,
    .eval = eval,
    .examples = {"(x: f32[2,3]) { y = Compress(x, bool[2]{false, true}, axis=-1) return y }",
                 "(x: i64[2,3], c: bool[5]) { y = Compress(x, c) return y }"},
};

}  // namespace longshore::ops::op_compress
