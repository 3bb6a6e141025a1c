#include "ops/elementwise.hpp"

namespace longshore::ops::op_acosh {

extern constinit const OpDef definition = {
    .name = "Acosh",
    .doc = "The inverse hyperbolic cosine.",
    .since = 22,
    .schema = {.inputs = {{"X", type_set::float_types, "T"}},
               .outputs = {{"Y", type_set::float_types, "T"}}},
    .infer = infer_same,
    .eval = eval_unary<FloatTypes, [](auto x) { return std::acosh(x); }>,
    .facts = facts_rank,
    .quant = Quant::table,
    .steep = true,
    .form = table_form,
    .elementwise = true,
    .examples = {"(x: f32[2,5]) { y = Acosh(x) return y }"},
};

}  // namespace longshore::ops::op_acosh
