#include "ops/copy.hpp"
#include "ops/elementwise.hpp"

namespace longshore::ops::op_identity {

extern constinit const OpDef definition = {
    .name = "Identity",
    .doc = "y = x.",
    .since = 25,
    .schema = {.inputs = {{"input", type_set::any, "V"}},
               .outputs = {{"output", type_set::any, "V"}}},
    .infer = infer_same,
    .eval = eval_copy,
    .eval_quantised = eval_copy,
    .facts = facts_rank,
    .quant = Quant::same,
    .channels = Channels::scales,
    .form = view_form,
    .view = true,
    .examples = {"(x: f32[2,3]) { y = Identity(x) return y }",
                 "(x: bool[]) { y = Identity(x) return y }"},
};

}  // namespace longshore::ops::op_identity
