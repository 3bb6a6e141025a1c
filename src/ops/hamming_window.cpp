#include "ops/cosine_window.hpp"

namespace longshore::ops::op_hamming_window {
namespace {

Status eval(EvalContext& c) noexcept { return eval_cosine_window(c, 25.0 / 46, 21.0 / 46, 0.0); }

}  // namespace

extern constinit const OpDef definition = {
    .name = "HammingWindow",
    .doc = "A Hamming window of the size given.",
    .since = 17,
    .schema = {.inputs = {{"size", type_set::indices}},
               .outputs = {{"output", type_set::numbers}},
               .attributes = {{"output_datatype"}, {"periodic"}}},
    .infer = infer_cosine_window,
    .eval = eval,
    .examples = {"() { y = HammingWindow(i64[]{10}) return y }",
                 "() { y = HammingWindow(i32[]{1}, periodic=0, output_datatype=11) return y }"},
};

}  // namespace longshore::ops::op_hamming_window
