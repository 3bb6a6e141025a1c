#include "ops/elementwise.hpp"

namespace longshore::ops::op_softsign {

extern constinit const OpDef definition = {
    .name = "Softsign",
    .doc = "y = x / (1 + |x|).",
    .since = 22,
    .schema = {.inputs = {{"X", type_set::float_types, "T"}},
               .outputs = {{"Y", type_set::float_types, "T"}}},
    .infer = infer_same,
    .eval = eval_unary<FloatTypes, [](auto x) { return x / (decltype(x){1} + std::fabs(x)); }>,
    .facts = facts_rank,
    .quant = Quant::table,
    .form = table_form,
    .elementwise = true,
    .examples = {"(x: f32[2,5]) { y = Softsign(x) return y }"},
};

}  // namespace longshore::ops::op_softsign
