#include "ops/elementwise.hpp"

namespace longshore::ops::op_ceil {

extern constinit const OpDef definition = {
    .name = "Ceil",
    .doc = "The smallest whole number that is not less than x.",
    .since = 13,
    .schema = {.inputs = {{"X", type_set::float_types, "T"}},
               .outputs = {{"Y", type_set::float_types, "T"}}},
    .infer = infer_same,
    .eval = eval_unary<FloatTypes, [](auto x) { return std::ceil(x); }>,
    .facts = facts_rank,
    .quant = Quant::table,
    .steep = true,
    .form = table_form,
    .elementwise = true,
    .examples = {"(x: f32[2,5]) { y = Ceil(x) return y }"},
};

}  // namespace longshore::ops::op_ceil
