#include "ops/elementwise.hpp"

namespace longshore::ops::op_selu {
namespace {

Status eval(EvalContext& c) noexcept {
  const float alpha = c.attributes.real("alpha", 1.67326319217681884765625f);
  const float gamma = c.attributes.real("gamma", 1.05070102214813232421875f);
  return eval_unary_with<FloatTypes>(
      c, [=](auto x) { return x > 0 ? gamma * x : gamma * (alpha * std::expm1(x)); });
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "Selu",
    .doc = "y = gamma * x where x > 0, else gamma * alpha * (exp(x) - 1).",
    .since = 22,
    .schema = {.inputs = {{"X", type_set::float_types, "T"}},
               .outputs = {{"Y", type_set::float_types, "T"}},
               .attributes = {{"alpha", AttributeKind::real}, {"gamma", AttributeKind::real}}},
    .infer = infer_same,
    .eval = eval,
    .facts = facts_rank,
    .quant = Quant::table,
    .form = table_form,
    .elementwise = true,
    .examples = {"(x: f32[2,5]) { y = Selu(x) return y }"},
};

}  // namespace longshore::ops::op_selu
