#include "ops/arg_extreme.hpp"

namespace longshore::ops::op_arg_max {

extern constinit const OpDef definition = {
    .name = "ArgMax",
    .doc =
        "Where the largest element along the axis is: the first such, or the last with "
        "select_last_index.",
    .since = 13,
    .schema = {.inputs = {{"data", type_set::numbers}},
               .outputs = {{"reduced", type_set::int64}},
               .attributes = {{"axis"}, {"keepdims"}, {"select_last_index"}}},
    .infer = infer_arg,
    .eval = eval_arg<[](auto a, auto b) { return b < a; }>,
    .facts = facts_rank,
    .examples =
        {"(x: f32[2,3,4]) { y = ArgMax(x, axis=1) return y }",
         "(x: u8[2,3]) { y = ArgMax(x, axis=-1, keepdims=0, select_last_index=1) return y }"},
};

}  // namespace longshore::ops::op_arg_max
