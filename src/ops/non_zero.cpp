#include "ops/movement.hpp"

namespace longshore::ops::op_non_zero {
namespace {

void infer(InferContext& c) {
  const TensorType x = c.input(0);
  c.output(0, {DType::i64, Dims{x.ranked ? Dim(x.rank()) : Dim(), Dim()}});
}

Status eval(EvalContext& c) noexcept {
  const TensorView& x = c.input(0);
  const std::int64_t n = x.elements();
  Status status;
  visit_type(AllTypes{}, x.dtype, [&]<class T>() {
    const auto set = [&](std::int64_t i) {
      if constexpr (std::is_integral_v<T> || std::is_same_v<T, double>)
        return x.as<T>()[i] != 0;
      else
        return static_cast<float>(x.as<T>()[i]) != 0;
    };
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < n; i++) count += set(i) ? 1 : 0;
    MutableView y;
    status = c.output(0, {x.shape.rank, count}, y);
    if (!status.ok()) return;
    Shape at = x.shape;
    for (std::int64_t& d : at) d = 0;
    std::int64_t found = 0;
    for (std::int64_t i = 0; i < n; i++, next_index(at, x.shape)) {
      if (!set(i)) continue;
      for (int d = 0; d < at.rank; d++) y.as<std::int64_t>()[d * count + found] = at[d];
      found++;
    }
  });
  return status;
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "NonZero",
    .doc = "The indices of the elements that are not zero, one row for each axis.",
    .since = 13,
    .schema = {.inputs = {{"X"}}, .outputs = {{"Y", type_set::int64}}},
    .infer = infer,
    .eval = eval,
    .examples = {"(x: bool[2,3]) { y = NonZero(x) return y }",
                 "(x: f16[4]) { y = NonZero(x) return y }"},
};

}  // namespace longshore::ops::op_non_zero
