#include "ops/elementwise.hpp"

namespace longshore::ops::op_thresholded_relu {
namespace {

Status eval(EvalContext& c) noexcept {
  const float alpha = c.attributes.real("alpha", 1.0f);
  return eval_unary_with<FloatTypes>(c, [=](auto x) { return x <= alpha ? decltype(x){0} : x; });
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "ThresholdedRelu",
    .doc = "y = x where x > alpha, else 0; NaN stays NaN.",
    .since = 22,
    .schema = {.inputs = {{"X", type_set::float_types, "T"}},
               .outputs = {{"Y", type_set::float_types, "T"}},
               .attributes = {{"alpha", AttributeKind::real}}},
    .infer = infer_same,
    .eval = eval,
    .facts = facts_rank,
    .quant = Quant::table,
    .steep = true,
    .form = table_form,
    .elementwise = true,
    .examples = {"(x: f32[2,5]) { y = ThresholdedRelu(x) return y }"},
};

}  // namespace longshore::ops::op_thresholded_relu
