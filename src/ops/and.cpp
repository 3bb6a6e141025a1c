#include "ops/elementwise.hpp"
#include "ops/legacy.hpp"

namespace longshore::ops::op_and {

extern constinit const OpDef definition = {
    .name = "And",
    .doc = "True where both are.",
    .since = 7,
    .schema = {.inputs = {{"A", type_set::boolean, "T"}, {"B", type_set::boolean, "T"}},
               .outputs = {{"C", type_set::boolean}}},
    .normalise = legacy_broadcast,
    .infer = infer_broadcast_bool,
    .eval = eval_binary<TypeList<Bool8>, [](bool a, bool b) { return a && b; }, Bool8>,
    .facts = facts_rank,
    .examples = {"(a: bool[2,3], b: bool[3]) { y = And(a, b) return y }"},
};

}  // namespace longshore::ops::op_and
