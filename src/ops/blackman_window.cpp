#include "ops/cosine_window.hpp"

namespace longshore::ops::op_blackman_window {
namespace {

Status eval(EvalContext& c) noexcept { return eval_cosine_window(c, 0.42, 0.5, 0.08); }

}  // namespace

extern constinit const OpDef definition = {
    .name = "BlackmanWindow",
    .doc = "A Blackman window of the size given.",
    .since = 17,
    .schema = {.inputs = {{"size", type_set::indices}},
               .outputs = {{"output", type_set::numbers}},
               .attributes = {{"output_datatype"}, {"periodic"}}},
    .infer = infer_cosine_window,
    .eval = eval,
    .examples = {"() { y = BlackmanWindow(i64[]{10}) return y }",
                 "() { y = BlackmanWindow(i32[]{1}, periodic=0, output_datatype=11) return y }"},
};

}  // namespace longshore::ops::op_blackman_window
