#include "ops/cumulative.hpp"

namespace longshore::ops::op_cum_prod {

extern constinit const OpDef definition = {
    .name = "CumProd",
    .doc = "The running product along an axis.",
    .since = 26,
    .came = 26,
    .schema = {.inputs = {{"x",
                           type_set::float_types |
                               types(DType::i32, DType::i64, DType::u32, DType::u64),
                           "T"},
                          {"axis", type_set::indices}},
               .outputs = {{"y", type_set::numbers, "T"}},
               .attributes = {{"exclusive"}, {"reverse"}}},
    .infer = infer_same,
    .eval = eval_cumulative<1, [](auto a, auto b) { return wrapping_multiply(a, b); }>,
    .facts = facts_rank,
    .examples = {"(x: f32[2,3,4]) { y = CumProd(x, i64[]{1}) return y }",
                 "(x: i32[5]) { y = CumProd(x, i32[1]{-1}, exclusive=1, reverse=1) return y }"},
};

}  // namespace longshore::ops::op_cum_prod
