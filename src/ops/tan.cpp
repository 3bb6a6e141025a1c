#include "ops/elementwise.hpp"

namespace longshore::ops::op_tan {

extern constinit const OpDef definition = {
    .name = "Tan",
    .doc = "The tangent of an angle in radians.",
    .since = 22,
    .schema = {.inputs = {{"X", type_set::float_types, "T"}},
               .outputs = {{"Y", type_set::float_types, "T"}}},
    .infer = infer_same,
    .eval = eval_unary<FloatTypes, [](auto x) { return std::tan(x); }>,
    .facts = facts_rank,
    .quant = Quant::table,
    .steep = true,
    .form = table_form,
    .elementwise = true,
    .examples = {"(x: f32[2,5]) { y = Tan(x) return y }"},
};

}  // namespace longshore::ops::op_tan
