#include "ops/cumulative.hpp"

namespace longshore::ops::op_cum_sum {

extern constinit const OpDef definition = {
    .name = "CumSum",
    .doc = "The running sum along an axis.",
    .since = 14,
    .schema = {.inputs = {{"x",
                           type_set::float_types |
                               types(DType::i32, DType::i64, DType::u32, DType::u64),
                           "T"},
                          {"axis", type_set::indices}},
               .outputs = {{"y", type_set::numbers, "T"}},
               .attributes = {{"exclusive"}, {"reverse"}}},
    .infer = infer_same,
    .eval = eval_cumulative<0, [](auto a, auto b) { return wrapping_add(a, b); }>,
    .facts = facts_rank,
    .examples = {"(x: f32[2,3,4]) { y = CumSum(x, i64[]{1}) return y }",
                 "(x: i32[5]) { y = CumSum(x, i32[1]{-1}, exclusive=1, reverse=1) return y }"},
};

}  // namespace longshore::ops::op_cum_sum
