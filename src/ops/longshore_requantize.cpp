#include "ops/requantise_node.hpp"

namespace longshore::ops::op_longshore_requantize {

extern constinit const OpDef definition = {
    .name = "Requantize",
    .domain = "longshore",
    .doc =
        "The same numbers as codes of another scale: quantise(dequantise(q)), in every rounding "
        "mode.",
    .schema = {.inputs = {{"x", types(DType::f32)}}, .outputs = {{"y", types(DType::f32)}}},
    .infer = infer_same,
    .eval = eval_copy,
    .eval_quantised = eval_recode,
    .facts = facts_rank,
    .quant = Quant::recode,
    .form = [](const NodeTypes&) { return FormSpec{.form = "quantise"}; },
    .examples =
        {"(x: i8[2,3] q(0.5, -3)) { y: i8[2,3] q(0.25, 7) = longshore.Requantize(x) return y }",
         "(x: u8[4] q(0.5, 128)) { y: i8[4] q(0.5, 0) = longshore.Requantize(x) return y }"},
};

}  // namespace longshore::ops::op_longshore_requantize
