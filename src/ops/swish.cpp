#include "ops/elementwise.hpp"

namespace longshore::ops::op_swish {
namespace {

Status eval(EvalContext& c) noexcept {
  const float alpha = c.attributes.real("alpha", 1.0f);
  return eval_unary_with<FloatTypes>(
      c, [=](auto x) { return x / (decltype(x){1} + std::exp(-alpha * x)); });
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "Swish",
    .doc = "y = x * sigmoid(alpha * x).",
    .since = 24,
    .came = 24,
    .schema = {.inputs = {{"X", type_set::float_types, "T"}},
               .outputs = {{"Y", type_set::float_types, "T"}},
               .attributes = {{"alpha", AttributeKind::real}}},
    .infer = infer_same,
    .eval = eval,
    .facts = facts_rank,
    .quant = Quant::table,
    .form = table_form,
    .elementwise = true,
    .examples = {"(x: f32[2,5]) { y = Swish(x) return y }",
                 "(x: f32[4]) { y = Swish(x, alpha=1.5) return y }"},
};

}  // namespace longshore::ops::op_swish
