#include "ops/elementwise.hpp"

namespace longshore::ops::op_celu {
namespace {

Status eval(EvalContext& c) noexcept {
  const float alpha = c.attributes.real("alpha", 1.0f);
  return eval_unary_with<FloatTypes>(
      c, [=](auto x) { return x > 0 ? x : alpha * std::expm1(x / alpha); });
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "Celu",
    .doc = "y = max(0, x) + min(0, alpha * (exp(x / alpha) - 1)).",
    .since = 12,
    .schema = {.inputs = {{"X", type_set::float_types, "T"}},
               .outputs = {{"Y", type_set::float_types, "T"}},
               .attributes = {{"alpha", AttributeKind::real}}},
    .infer = infer_same,
    .eval = eval,
    .facts = facts_rank,
    .quant = Quant::table,
    .form = table_form,
    .elementwise = true,
    .examples = {"(x: f32[2,5]) { y = Celu(x) return y }"},
};

}  // namespace longshore::ops::op_celu
