#include "ops/elementwise.hpp"

namespace longshore::ops::op_bitwise_and {

extern constinit const OpDef definition = {
    .name = "BitwiseAnd",
    .doc = "The bits that both have.",
    .since = 18,
    .schema = {.inputs = {{"A", type_set::integers, "T"}, {"B", type_set::integers, "T"}},
               .outputs = {{"C", type_set::integers, "T"}}},
    .infer = infer_broadcast,
    .eval = eval_binary<IntegerTypes, [](auto a, auto b) { return a & b; }>,
    .facts = facts_rank,
    .examples = {"(a: i32[2,3], b: i32[3]) { y = BitwiseAnd(a, b) return y }"},
};

}  // namespace longshore::ops::op_bitwise_and
