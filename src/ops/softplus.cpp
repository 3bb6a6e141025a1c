#include "ops/elementwise.hpp"
#include "ops/activation.hpp"

namespace longshore::ops::op_softplus {

extern constinit const OpDef definition = {
    .name = "Softplus",
    .doc = "y = log(1 + exp(x)), without overflow.",
    .since = 22,
    .schema = {.inputs = {{"X", type_set::float_types, "T"}},
               .outputs = {{"Y", type_set::float_types, "T"}}},
    .infer = infer_same,
    .eval = eval_unary<FloatTypes, [](auto x) { return softplus(x); }>,
    .facts = facts_rank,
    .quant = Quant::table,
    .form = table_form,
    .elementwise = true,
    .examples = {"(x: f32[2,5]) { y = Softplus(x) return y }"},
};

}  // namespace longshore::ops::op_softplus
