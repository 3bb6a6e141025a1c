#include "ops/activation.hpp"
#include "ops/elementwise.hpp"

namespace longshore::ops::op_tanh {

extern constinit const OpDef definition = {
    .name = "Tanh",
    .doc = "The hyperbolic tangent.",
    .since = 13,
    .schema = {.inputs = {{"X", type_set::float_types, "T"}},
               .outputs = {{"Y", type_set::float_types, "T"}}},
    .infer = infer_same,
    .eval = eval_unary<FloatTypes, [](auto x) { return std::tanh(x); }>,
    .facts = facts_rank,
    .quant = Quant::table,
    .activation = activation_with_attributes<Activation{.kind = Activation::Kind::tanh}>,
    .lowest = -1,
    .highest = 1,
    .form = table_form,
    .elementwise = true,
    .examples = {"(x: f32[2,5]) { y = Tanh(x) return y }"},
};

}  // namespace longshore::ops::op_tanh
