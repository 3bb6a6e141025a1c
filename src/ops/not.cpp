#include "ops/elementwise.hpp"

namespace longshore::ops::op_not {

extern constinit const OpDef definition = {
    .name = "Not",
    .doc = "True becomes false and false true.",
    .since = 1,
    .schema = {.inputs = {{"X", type_set::boolean, "T"}},
               .outputs = {{"Y", type_set::boolean, "T"}}},
    .infer = infer_same,
    .eval = eval_unary<TypeList<Bool8>, [](Bool8 x) { return !x; }>,
    .facts = facts_rank,
    .examples = {"(x: bool[4]) { y = Not(x) return y }"},
};

}  // namespace longshore::ops::op_not
