#include "ops/elementwise.hpp"

namespace longshore::ops::op_floor {

extern constinit const OpDef definition = {
    .name = "Floor",
    .doc = "The largest whole number that is not more than x.",
    .since = 13,
    .schema = {.inputs = {{"X", type_set::float_types, "T"}},
               .outputs = {{"Y", type_set::float_types, "T"}}},
    .infer = infer_same,
    .eval = eval_unary<FloatTypes, [](auto x) { return std::floor(x); }>,
    .facts = facts_rank,
    .quant = Quant::table,
    .steep = true,
    .form = table_form,
    .elementwise = true,
    .examples = {"(x: f32[2,5]) { y = Floor(x) return y }"},
};

}  // namespace longshore::ops::op_floor
