#include "ops/requantise_node.hpp"

namespace longshore::ops::op_longshore_dequantize {

extern constinit const OpDef definition = {
    .name = "Dequantize",
    .domain = "longshore",
    .doc = "Codes as a float tensor: x = (q - zero_point) * scale.",
    .schema = {.inputs = {{"x", types(DType::f32)}}, .outputs = {{"y", types(DType::f32)}}},
    .infer = infer_same,
    .eval = eval_copy,
    .eval_quantised = eval_recode,
    .facts = facts_rank,
    .quant = Quant::recode,
    .form = [](const NodeTypes&) { return FormSpec{.form = "quantise"}; },
    .examples =
        {"(x: i8[2,3] q(0.5, -3)) { y = longshore.Dequantize(x) return y }",
         "(x: i8[2,3] q([0.5, 0.25], [0, 0], axis=0)) { y = longshore.Dequantize(x) return y }"},
};

}  // namespace longshore::ops::op_longshore_dequantize
