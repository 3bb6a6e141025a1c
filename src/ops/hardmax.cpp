#include "ops/softmax.hpp"

namespace longshore::ops::op_hardmax {
namespace {

Status eval(EvalContext& c) noexcept {
  return eval_rows(c, []<class T>(const T* from, T* to, std::int64_t count, std::int64_t stride) {
    std::int64_t best = 0;
    for (std::int64_t i = 1; i < count; i++)
      if (from[i * stride] > from[best * stride]) best = i;
    for (std::int64_t i = 0; i < count; i++)
      to[i * stride] = static_cast<T>(i == best ? 1.0f : 0.0f);
  });
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "Hardmax",
    .doc = "1 at the first largest element along the axis, 0 elsewhere.",
    .since = 13,
    .schema = {.inputs = {{"input", type_set::float_types, "T"}},
               .outputs = {{"output", type_set::float_types, "T"}},
               .attributes = {{"axis"}}},
    .normalise = normalise_softmax,
    .infer = infer_rows,
    .eval = eval,
    .facts = facts_rank,
    .examples = {"(x: f32[2,5]) { y = Hardmax(x) return y }",
                 "(x: f16[2,3,4]) { y = Hardmax(x, axis=1) return y }"},
};

}  // namespace longshore::ops::op_hardmax
