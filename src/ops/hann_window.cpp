#include "ops/cosine_window.hpp"

namespace longshore::ops::op_hann_window {
namespace {

Status eval(EvalContext& c) noexcept { return eval_cosine_window(c, 0.5, 0.5, 0.0); }

}  // namespace

extern constinit const OpDef definition = {
    .name = "HannWindow",
    .doc = "A Hann window of the size given.",
    .since = 17,
    .schema = {.inputs = {{"size", type_set::indices}},
               .outputs = {{"output", type_set::numbers}},
               .attributes = {{"output_datatype"}, {"periodic"}}},
    .infer = infer_cosine_window,
    .eval = eval,
    .examples = {"() { y = HannWindow(i64[]{10}) return y }",
                 "() { y = HannWindow(i32[]{1}, periodic=0, output_datatype=11) return y }"},
};

}  // namespace longshore::ops::op_hann_window
