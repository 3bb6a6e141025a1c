#include "ops/elementwise.hpp"

namespace longshore::ops::op_sqrt {

extern constinit const OpDef definition = {
    .name = "Sqrt",
    .doc = "The square root; NaN for negative numbers.",
    .since = 13,
    .schema = {.inputs = {{"X", type_set::float_types, "T"}},
               .outputs = {{"Y", type_set::float_types, "T"}}},
    .infer = infer_same,
    .eval = eval_unary<FloatTypes, [](auto x) { return std::sqrt(x); }>,
    .facts = facts_rank,
    .quant = Quant::table,
    .steep = true,
    .form = table_form,
    .elementwise = true,
    .examples = {"(x: f32[2,5]) { y = Sqrt(x) return y }"},
};

}  // namespace longshore::ops::op_sqrt
