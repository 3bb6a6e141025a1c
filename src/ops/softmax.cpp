#include "ops/softmax.hpp"

namespace longshore::ops::op_softmax {
namespace {

Status eval(EvalContext& c) noexcept {
  return eval_rows(c, []<class T>(const T* from, T* to, std::int64_t count, std::int64_t stride) {
    const auto most = row_maximum(from, count, stride);
    const double sum = row_exponentials(from, count, stride, most);
    for (std::int64_t i = 0; i < count; i++)
      to[i * stride] =
          static_cast<T>(std::exp(static_cast<Compute<T>>(from[i * stride]) - most) / sum);
  });
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "Softmax",
    .doc = "exp(x) over the sum of exp(x) along the axis.",
    .since = 13,
    .schema = {.inputs = {{"input", type_set::float_types, "T"}},
               .outputs = {{"output", type_set::float_types, "T"}},
               .attributes = {{"axis"}}},
    .normalise = normalise_softmax,
    .infer = infer_rows,
    .eval = eval,
    .facts = facts_rank,
    .quant = Quant::rescale,
    .lowest = 0,
    .highest = 1,
    .examples = {"(x: f32[2,5]) { y = Softmax(x) return y }",
                 "(x: f16[2,3,4]) { y = Softmax(x, axis=1) return y }"},
};

}  // namespace longshore::ops::op_softmax
