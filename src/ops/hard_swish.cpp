#include "ops/elementwise.hpp"
#include "ops/activation.hpp"

namespace longshore::ops::op_hard_swish {

extern constinit const OpDef definition = {
    .name = "HardSwish",
    .doc = "y = x * max(0, min(1, x / 6 + 1 / 2)).",
    .since = 22,
    .schema = {.inputs = {{"X", type_set::float_types, "T"}},
               .outputs = {{"Y", type_set::float_types, "T"}}},
    .infer = infer_same,
    .eval = eval_unary<FloatTypes, [](auto x) { return x * hard_sigmoid(x, 1.0 / 6.0, 0.5); }>,
    .facts = facts_rank,
    .quant = Quant::table,
    .form = table_form,
    .elementwise = true,
    .examples = {"(x: f32[2,5]) { y = HardSwish(x) return y }"},
};

}  // namespace longshore::ops::op_hard_swish
