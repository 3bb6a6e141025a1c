#include "ops/elementwise.hpp"

namespace longshore::ops::op_round {

extern constinit const OpDef definition = {
    .name = "Round",
    .doc = "The nearest whole number; halves go to the even one.",
    .since = 22,
    .schema = {.inputs = {{"X", type_set::float_types, "T"}},
               .outputs = {{"Y", type_set::float_types, "T"}}},
    .infer = infer_same,
    .eval = eval_unary<FloatTypes, [](auto x) { return std::nearbyint(x); }>,
    .facts = facts_rank,
    .quant = Quant::table,
    .steep = true,
    .form = table_form,
    .elementwise = true,
    .examples = {"(x: f32[2,5]) { y = Round(x) return y }",
                 "() { y = Round(f32[4]{-0.5, 0.5, 1.5, 2.5}) return y }"},
};

}  // namespace longshore::ops::op_round
