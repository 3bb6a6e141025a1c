#include "ops/elementwise.hpp"
#include "ops/legacy.hpp"

namespace longshore::ops::op_sub {

extern constinit const OpDef definition = {
    .name = "Sub",
    .doc = "y = a - b, broadcast as numpy does. Integers wrap around.",
    .since = 14,
    .schema = {.inputs = {{"A", type_set::numbers, "T"}, {"B", type_set::numbers, "T"}},
               .outputs = {{"C", type_set::numbers, "T"}}},
    .normalise = legacy_broadcast,
    .infer = infer_broadcast,
    .eval = eval_binary<NumberTypes, [](auto a, auto b) { return wrapping_subtract(a, b); }>,
    .facts = facts_rank,
    .quant = Quant::rescale,
    .channels = Channels::differences,
    .first_dim = first_dim_of_broadcast,
    .form =
        [](const NodeTypes&) {
          return FormSpec{.form = "eltwise", .function = "subtract", .other = 1};
        },
    .elementwise = true,
    .examples = {"(a: f32[2,3,4], b: f32[3,1]) { y = Sub(a, b) return y }",
                 "(a: i32[2,3], b: i32[3]) { y = Sub(a, b) return y }"},
};

}  // namespace longshore::ops::op_sub
