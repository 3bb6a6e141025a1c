#include "ops/elementwise.hpp"

namespace longshore::ops::op_asin {

extern constinit const OpDef definition = {
    .name = "Asin",
    .doc = "The inverse sine, in radians.",
    .since = 22,
    .schema = {.inputs = {{"X", type_set::float_types, "T"}},
               .outputs = {{"Y", type_set::float_types, "T"}}},
    .infer = infer_same,
    .eval = eval_unary<FloatTypes, [](auto x) { return std::asin(x); }>,
    .facts = facts_rank,
    .quant = Quant::table,
    .steep = true,
    .form = table_form,
    .elementwise = true,
    .examples = {"(x: f32[2,5]) { y = Asin(x) return y }"},
};

}  // namespace longshore::ops::op_asin
