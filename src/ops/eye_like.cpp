#include "ops/movement.hpp"

namespace longshore::ops::op_eye_like {
namespace {

void infer(InferContext& c) {
  TensorType x = c.input(0);
  if (x.ranked && x.rank() != 2)
    c.fail("its input has rank " + std::to_string(x.rank()) + ", not 2");
  const std::int64_t dtype = c.attributes().integer("dtype", static_cast<std::int64_t>(x.dtype));
  if (dtype < 0 || dtype >= dtype_count ||
      (dtype != 0 && !type_set::any.has(static_cast<DType>(dtype))))
    c.fail("its dtype is unknown");
  x.dtype = static_cast<DType>(dtype);
  c.output(0, x);
}

Status eval(EvalContext& c) noexcept {
  const Shape& dims = c.input(0).shape;
  const std::int64_t k = c.attributes.integer("k", 0);
  if (dims.rank != 2)
    return Status::error(Code::bad_argument, "the input has rank %d, not 2", dims.rank);
  MutableView y;
  LONGSHORE_TRY(c.output(0, dims, y));
  if (y.bytes() > 0)
    std::memset(y.data, 0, y.bytes());  // zero in every type but e8m0, which has none
  visit_type(AllTypes{}, y.dtype, [&]<class T>() {
    for (std::int64_t i = std::max<std::int64_t>(0, k < -dims[0] ? dims[0] : -k);
         i < dims[0] && k < dims[1] && i + k < dims[1]; i++)
      y.as<T>()[i * dims[1] + i + k] = T(1);
  });
  return {};
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "EyeLike",
    .doc = "Ones on the k-th diagonal of a matrix with the dims of the input, zeros elsewhere.",
    .since = 22,
    .schema = {.inputs = {{"input"}}, .outputs = {{"output"}}, .attributes = {{"dtype"}, {"k"}}},
    .infer = infer,
    .eval = eval,
    .examples = {"(x: i32[3,N]) { y = EyeLike(x, dtype=1, k=-1) return y }",
                 "(x: f64[2,3]) { y = EyeLike(x, k=1) return y }"},
};

}  // namespace longshore::ops::op_eye_like
