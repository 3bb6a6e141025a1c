#include "ops/elementwise.hpp"

namespace longshore::ops::op_acos {

extern constinit const OpDef definition = {
    .name = "Acos",
    .doc = "The inverse cosine, in radians.",
    .since = 22,
    .schema = {.inputs = {{"X", type_set::float_types, "T"}},
               .outputs = {{"Y", type_set::float_types, "T"}}},
    .infer = infer_same,
    .eval = eval_unary<FloatTypes, [](auto x) { return std::acos(x); }>,
    .facts = facts_rank,
    .quant = Quant::table,
    .steep = true,
    .form = table_form,
    .elementwise = true,
    .examples = {"(x: f32[2,5]) { y = Acos(x) return y }"},
};

}  // namespace longshore::ops::op_acos
