#include "ops/elementwise.hpp"

namespace longshore::ops::op_log {

extern constinit const OpDef definition = {
    .name = "Log",
    .doc = "The natural logarithm.",
    .since = 13,
    .schema = {.inputs = {{"X", type_set::float_types, "T"}},
               .outputs = {{"Y", type_set::float_types, "T"}}},
    .infer = infer_same,
    .eval = eval_unary<FloatTypes, [](auto x) { return std::log(x); }>,
    .facts = facts_rank,
    .quant = Quant::table,
    .steep = true,
    .form = table_form,
    .elementwise = true,
    .examples = {"(x: f32[2,5]) { y = Log(x) return y }"},
};

}  // namespace longshore::ops::op_log
