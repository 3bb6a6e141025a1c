#include "ops/activation.hpp"
#include "ops/elementwise.hpp"

namespace longshore::ops::op_sigmoid {

extern constinit const OpDef definition = {
    .name = "Sigmoid",
    .doc = "y = 1 / (1 + exp(-x)).",
    .since = 13,
    .schema = {.inputs = {{"X", type_set::float_types, "T"}},
               .outputs = {{"Y", type_set::float_types, "T"}}},
    .infer = infer_same,
    .eval = eval_unary<FloatTypes,
                       [](auto x) { return decltype(x){1} / (decltype(x){1} + std::exp(-x)); }>,
    .facts = facts_rank,
    .quant = Quant::table,
    .activation = activation_with_attributes<Activation{.kind = Activation::Kind::sigmoid}>,
    .lowest = 0,
    .highest = 1,
    .form = table_form,
    .elementwise = true,
    .examples = {"(x: f32[2,5]) { y = Sigmoid(x) return y }"},
};

}  // namespace longshore::ops::op_sigmoid
