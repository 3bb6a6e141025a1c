#include "ops/movement.hpp"

namespace longshore::ops::op_constant_of_shape {
namespace {

DType element_type(const Attributes& a) {
  const Tensor* value = a.tensor("value");
  return value ? value->dtype : DType::f32;
}

void infer(InferContext& c) {
  const DType dtype = element_type(c.attributes());
  if (const Tensor* value = c.attributes().tensor("value"); value && value->elements() != 1)
    c.fail("its value has " + std::to_string(value->elements()) + " elements, not 1");
  const std::optional<Ints> wanted = c.integers(0);
  if (!wanted) {
    const std::optional<Shape> length = c.input(0).shape();
    c.output(0, length && length->elements() <= max_rank
                    ? unknown_dims(dtype, static_cast<int>(length->elements()))
                    : TensorType::unranked(dtype));
    return;
  }
  if (wanted->size() > max_rank)
    c.fail("its shape has " + std::to_string(wanted->size()) + " entries; at most 8 are supported");
  Dims dims;
  for (std::int64_t d : *wanted) {
    if (d < 0) c.fail("its shape has the entry " + std::to_string(d));
    dims.emplace_back(d);
  }
  c.output(0, {dtype, dims});
}

Status eval(EvalContext& c) noexcept {
  IntList wanted;
  LONGSHORE_TRY(read_ints(c.input(0), max_rank, "the shape", wanted));
  Shape dims;
  for (std::int64_t d : wanted) dims.push(d);
  if (checked_elements(dims) < 0)
    return Status::error(Code::bad_argument, "the shape has a negative entry or too many elements");
  MutableView y;
  LONGSHORE_TRY(c.output(0, dims, y));
  constexpr std::byte zero[16] = {};
  const Tensor* value = c.attributes.tensor("value");
  if (value && value->elements() != 1)
    return Status::error(Code::bad_model, "the value must have one element");
  Shape repeated = dims;
  for (std::int64_t& stride : repeated) stride = 0;
  copy_strided(dims, size_bytes(y.dtype), value ? value->view().data : zero, repeated, y.data,
               strides_of(dims));
  return {};
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "ConstantOfShape",
    .doc = "A tensor of the shape given, filled with one value; by default f32 zeros.",
    .since = 25,
    .schema = {.inputs = {{"input", type_set::int64}},
               .outputs = {{"output", type_set::any}},
               .attributes = {{"value", AttributeKind::tensor}}},
    .infer = infer,
    .eval = eval,
    .examples = {"(x: f32[N,3]) { s = Shape(x) y = ConstantOfShape(s, value=i32[1]{7}) return y }",
                 "() { y = ConstantOfShape(i64[2]{0, 3}) return y }",
                 "() { y = ConstantOfShape(i64[0]{}) return y }"},
};

}  // namespace longshore::ops::op_constant_of_shape
