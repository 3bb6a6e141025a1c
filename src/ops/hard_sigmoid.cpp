#include "ops/elementwise.hpp"
#include "ops/activation.hpp"

namespace longshore::ops::op_hard_sigmoid {
namespace {

Status eval(EvalContext& c) noexcept {
  const float alpha = c.attributes.real("alpha", 0.2f);
  const float beta = c.attributes.real("beta", 0.5f);
  return eval_unary_with<FloatTypes>(c, [=](auto x) { return hard_sigmoid(x, alpha, beta); });
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "HardSigmoid",
    .doc = "y = max(0, min(1, alpha * x + beta)).",
    .since = 22,
    .schema = {.inputs = {{"X", type_set::float_types, "T"}},
               .outputs = {{"Y", type_set::float_types, "T"}},
               .attributes = {{"alpha", AttributeKind::real}, {"beta", AttributeKind::real}}},
    .infer = infer_same,
    .eval = eval,
    .facts = facts_rank,
    .quant = Quant::table,
    .activation = activation_with_attributes<Activation{
        .kind = Activation::Kind::hard_sigmoid, .alpha = 0.2f, .beta = 0.5f}>,
    .form = table_form,
    .elementwise = true,
    .examples = {"(x: f32[2,5]) { y = HardSigmoid(x) return y }",
                 "(x: f32[2,5]) { y = HardSigmoid(x, alpha=0.5, beta=0.25) return y }"},
};

}  // namespace longshore::ops::op_hard_sigmoid
