#include "ops/elementwise.hpp"
#include "ops/legacy.hpp"

namespace longshore::ops::op_greater {

extern constinit const OpDef definition = {
    .name = "Greater",
    .doc = "y = a > b.",
    .since = 13,
    .schema = {.inputs = {{"A", type_set::numbers, "T"}, {"B", type_set::numbers, "T"}},
               .outputs = {{"C", type_set::boolean}}},
    .normalise = legacy_broadcast,
    .infer = infer_broadcast_bool,
    .eval = eval_binary<NumberTypes, [](auto a, auto b) { return b < a; }, Bool8>,
    .facts = facts_rank,
    .examples = {"(a: f32[2,3,4], b: f32[3,1]) { y = Greater(a, b) return y }",
                 "(a: i32[2,3], b: i32[3]) { y = Greater(a, b) return y }"},
};

}  // namespace longshore::ops::op_greater
