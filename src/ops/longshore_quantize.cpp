#include "ops/requantise_node.hpp"

namespace longshore::ops::op_longshore_quantize {

extern constinit const OpDef definition = {
    .name = "Quantize",
    .domain = "longshore",
    .doc = "A float tensor as codes: q = clamp(round_half_even(x / scale) + zero_point).",
    .schema = {.inputs = {{"x", types(DType::f32)}}, .outputs = {{"y", types(DType::f32)}}},
    .infer = infer_same,
    .eval = eval_copy,
    .eval_quantised = eval_recode,
    .facts = facts_rank,
    .quant = Quant::recode,
    .form = [](const NodeTypes&) { return FormSpec{.form = "quantise"}; },
    .examples = {"(x: f32[2,3]) { y: i8[2,3] q(0.5, -3) = longshore.Quantize(x) return y }",
                 "(x: f32[2,3]) { y: u8[2,3] q([0.5, 0.25, 1], [0, 3, 128], axis=1) = "
                 "longshore.Quantize(x) return y }"},
};

}  // namespace longshore::ops::op_longshore_quantize
