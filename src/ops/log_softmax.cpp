#include "ops/softmax.hpp"

namespace longshore::ops::op_log_softmax {
namespace {

Status eval(EvalContext& c) noexcept {
  return eval_rows(c, []<class T>(const T* from, T* to, std::int64_t count, std::int64_t stride) {
    const auto most = row_maximum(from, count, stride);
    const double log_sum = std::log(row_exponentials(from, count, stride, most));
    for (std::int64_t i = 0; i < count; i++)
      to[i * stride] = static_cast<T>(static_cast<Compute<T>>(from[i * stride]) - most - log_sum);
  });
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "LogSoftmax",
    .doc = "The logarithm of Softmax along the axis.",
    .since = 13,
    .schema = {.inputs = {{"input", type_set::float_types, "T"}},
               .outputs = {{"output", type_set::float_types, "T"}},
               .attributes = {{"axis"}}},
    .normalise = normalise_softmax,
    .infer = infer_rows,
    .eval = eval,
    .facts = facts_rank,
    .examples = {"(x: f32[2,5]) { y = LogSoftmax(x) return y }",
                 "(x: f16[2,3,4]) { y = LogSoftmax(x, axis=1) return y }"},
};

}  // namespace longshore::ops::op_log_softmax
