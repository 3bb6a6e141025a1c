#include "ops/elementwise.hpp"

namespace longshore::ops::op_bitwise_not {

extern constinit const OpDef definition = {
    .name = "BitwiseNot",
    .doc = "Every bit of an integer turned round.",
    .since = 18,
    .schema = {.inputs = {{"X", type_set::integers, "T"}},
               .outputs = {{"Y", type_set::integers, "T"}}},
    .infer = infer_same,
    .eval = eval_unary<IntegerTypes, [](auto x) { return ~x; }>,
    .facts = facts_rank,
    .examples = {"(x: i32[4]) { y = BitwiseNot(x) return y }"},
};

}  // namespace longshore::ops::op_bitwise_not
