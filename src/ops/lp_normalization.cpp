#include "ops/softmax.hpp"

namespace longshore::ops::op_lp_normalization {
namespace {

Status eval(EvalContext& c) noexcept {
  const std::int64_t p = c.attributes.integer("p", 2);
  if (p != 1 && p != 2)
    return Status::error(Code::bad_model, "p is 1 or 2, not %lld", static_cast<long long>(p));
  return eval_rows(c, [p]<class T>(const T* from, T* to, std::int64_t count, std::int64_t stride) {
    double sum = 0;
    for (std::int64_t i = 0; i < count; i++) {
      const double x = static_cast<Compute<T>>(from[i * stride]);
      sum += p == 1 ? std::fabs(x) : x * x;
    }
    const double norm = p == 1 ? sum : std::sqrt(sum);
    for (std::int64_t i = 0; i < count; i++)
      to[i * stride] =
          static_cast<T>(norm == 0 ? 0.0 : static_cast<Compute<T>>(from[i * stride]) / norm);
  });
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "LpNormalization",
    .doc =
        "x over its norm along the axis: the sum of |x| (p = 1) or the root of the sum of squares; "
        "0 for a norm of 0.",
    .since = 22,
    .schema = {.inputs = {{"input", type_set::float_types, "T"}},
               .outputs = {{"output", type_set::float_types, "T"}},
               .attributes = {{"axis"}, {"p"}}},
    .infer = infer_rows,
    .eval = eval,
    .facts = facts_rank,
    .examples = {"(x: f32[2,5]) { y = LpNormalization(x) return y }",
                 "(x: f64[2,3,4]) { y = LpNormalization(x, axis=1, p=1) return y }"},
};

}  // namespace longshore::ops::op_lp_normalization
