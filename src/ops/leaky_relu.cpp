#include "ops/activation.hpp"
#include "ops/elementwise.hpp"

namespace longshore::ops::op_leaky_relu {
namespace {

Status eval(EvalContext& c) noexcept {
  const float alpha = c.attributes.real("alpha", 0.01f);
  return eval_unary_with<FloatTypes>(c, [=](auto x) { return x < 0 ? alpha * x : x; });
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "LeakyRelu",
    .doc = "y = x where x >= 0, else alpha * x.",
    .since = 16,
    .schema = {.inputs = {{"X", type_set::float_types, "T"}},
               .outputs = {{"Y", type_set::float_types, "T"}},
               .attributes = {{"alpha", AttributeKind::real}}},
    .infer = infer_same,
    .eval = eval,
    .facts = facts_rank,
    .quant = Quant::table,
    .channels = Channels::scales,
    .activation = activation_with_attributes<Activation{.kind = Activation::Kind::leaky_relu,
                                                        .alpha = 0.01f}>,
    .form = table_form,
    .elementwise = true,
    .examples = {"(x: f32[2,5]) { y = LeakyRelu(x, alpha=0.1) return y }"},
};

}  // namespace longshore::ops::op_leaky_relu
