#include "ops/gemm.hpp"

namespace longshore::ops::op_gemm {

extern const OpDef definition;

namespace {

/// Before opset 7 the bias had an attribute `broadcast`; numpy's rule covers it.
void normalise(Node& n, int, Rewriter&) { n.attributes.erase("broadcast"); }

Status eval_quantised(EvalContext& c) noexcept { return eval_gemm_quantised(definition, c); }

}  // namespace

extern constinit const OpDef definition = {
    .name = "Gemm",
    .doc = "y = alpha * A * B + beta * C, with A and B transposed if asked for, and C broadcast.",
    .since = 13,
    .schema = {.inputs = {{"A", matrix_types, "T"},
                          {"B", matrix_types, "T", Presence::required, InputRole::weights},
                          {"C", matrix_types, "T", Presence::optional, InputRole::bias}},
               .outputs = {{"Y", matrix_types, "T"}},
               .attributes = {{"alpha", AttributeKind::real},
                              {"beta", AttributeKind::real},
                              {"transA"},
                              {"transB"}}},
    .normalise = normalise,
    .infer = [](InferContext& c) { infer_gemm(c, 2); },
    .eval = eval_gemm,
    .eval_quantised = eval_quantised,
    .facts = facts_gemm,
    .macs = macs_gemm,
    .quant = Quant::integer,
    .channels = Channels::product,
    .weight_axis =
        [](const NodeTypes& n) { return n.node.attributes.integer("transB") != 0 ? 0 : 1; },
    .fused = [](const NodeTypes&) { return std::string_view("com.microsoft.FusedGemm"); },
    .to_integer = fold_gemm_factors,
    .form = gemm_form,
    .float_rtol = 1e-4f,  // the order of the sum is free
    .float_atol = 1e-4f,
    .examples = {"(a: f32[2,4], b: f32[3,4], c: f32[3]) { y = Gemm(a, b, c, transB=1) return y }",
                 "(a: f32[4,2], b: f32[4,3]) { y = Gemm(a, b, alpha=0.5, transA=1) return y }",
                 "(a: i32[2,4], b: i32[4,3], c: i32[2,1]) { y = Gemm(a, b, c) return y }",
                 "(a: i8[2,2] q(0.5, 3)) { y: i8[2,2] q(0.125, 4) = Gemm(a, "
                 "i8[2,2] q([0.25, 0.5], [0, 0], axis=0) {1, -2, 3, 4}, "
                 "i32[2] q([0.125, 0.25], [0, 0], axis=0) {10, -20}, transB=1) return y }"},
};

}  // namespace longshore::ops::op_gemm
