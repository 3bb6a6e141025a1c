#include "ops/elementwise.hpp"

namespace longshore::ops::op_exp {

extern constinit const OpDef definition = {
    .name = "Exp",
    .doc = "e to the power of x.",
    .since = 13,
    .schema = {.inputs = {{"X", type_set::float_types, "T"}},
               .outputs = {{"Y", type_set::float_types, "T"}}},
    .infer = infer_same,
    .eval = eval_unary<FloatTypes, [](auto x) { return std::exp(x); }>,
    .facts = facts_rank,
    .quant = Quant::table,
    .form = table_form,
    .elementwise = true,
    .examples = {"(x: f32[2,5]) { y = Exp(x) return y }"},
};

}  // namespace longshore::ops::op_exp
