#include "ops/elementwise.hpp"

namespace longshore::ops::op_erf {

extern constinit const OpDef definition = {
    .name = "Erf",
    .doc = "The error function.",
    .since = 13,
    .schema = {.inputs = {{"X", type_set::float_types, "T"}},
               .outputs = {{"Y", type_set::float_types, "T"}}},
    .infer = infer_same,
    .eval = eval_unary<FloatTypes, [](auto x) { return std::erf(x); }>,
    .facts = facts_rank,
    .quant = Quant::table,
    .form = table_form,
    .elementwise = true,
    .examples = {"(x: f32[2,5]) { y = Erf(x) return y }"},
};

}  // namespace longshore::ops::op_erf
