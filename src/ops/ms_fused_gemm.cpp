#include <algorithm>

#include "base/error.hpp"
#include "ops/gemm.hpp"
#include "ops/fused.hpp"

namespace longshore::ops::op_ms_fused_gemm {

extern const OpDef definition;

namespace {

Status eval_quantised(EvalContext& c) noexcept { return eval_gemm_quantised(definition, c); }

/// The dims of the output as the input of a Reshape that gives rows their dims back.
ValueId dims_of_rows(const Node& n, Rewriter& r) {
  const Dims& dims = r.graph()[n.outputs[0]].type.dims;
  if (std::ranges::count_if(dims, [](const Dim& d) { return !d.known(); }) <= 1) {
    Ints known;
    for (const Dim& d : dims) known.push_back(d.known() ? d.value : -1);
    return r.constant(make_ints(known));
  }
  Attributes but_last, along;
  but_last.set("end", std::int64_t{-1});
  along.set("axis", std::int64_t{0});
  const ValueId rows = r.before("Shape", {n.inputs[0]}, but_last);
  return r.before("Concat", {rows, r.constant(make_ints(Ints{-1}))}, along);
}

/// ONNX's Gemm knows one dim of rows.
void to_standard(Node& n, Rewriter& r) {
  const TensorType& a = r.graph()[n.inputs[0]].type;
  if (!a.ranked) fail(Code::unsupported, "node ", describe(n), ": its input has no known rank");
  if (a.rank() > 2) {
    if (!a.dims.back().known())
      fail(Code::unsupported, "node ", describe(n), ": the last dim of its input is not known");
    const Ints rows = {-1, a.dims.back().value};
    r.after(n, "Reshape", {dims_of_rows(n, r)});
    n.inputs[0] = r.before("Reshape", {n.inputs[0], r.constant(make_ints(rows))});
  }
  take_apart(n, "Gemm", r);
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "FusedGemm",
    .domain = "com.microsoft",
    .doc =
        "Gemm and then an activation: Relu, Clip, LeakyRelu, Sigmoid, Tanh or HardSigmoid. A may "
        "have more than two dims: all but the last are rows.",
    .schema = {.inputs = {{"A", type_set::float_types, "T"},
                          {"B", type_set::float_types, "T", Presence::required, InputRole::weights},
                          {"C", type_set::float_types, "T", Presence::optional, InputRole::bias}},
               .outputs = {{"Y", type_set::float_types, "T"}},
               .attributes = {{"alpha", AttributeKind::real},
                              {"beta", AttributeKind::real},
                              {"transA"},
                              {"transB"},
                              {"activation", AttributeKind::text},
                              {"activation_params", AttributeKind::reals},
                              {"activation_alpha", AttributeKind::real},
                              {"activation_beta", AttributeKind::real},
                              {"activation_gamma", AttributeKind::real}}},
    .infer = [](InferContext& c) { infer_gemm(c, max_rank); },
    .eval = eval_gemm,
    .eval_quantised = eval_quantised,
    .facts = facts_gemm,
    .macs = macs_gemm,
    .quant = Quant::integer,
    .channels = Channels::product,
    .weight_axis =
        [](const NodeTypes& n) { return n.node.attributes.integer("transB") != 0 ? 0 : 1; },
    .fused =
        [](const NodeTypes& n) {
          return std::string_view(has_no_activation(n) ? "com.microsoft.FusedGemm" : "");
        },
    .to_integer =
        [](Node& n, Rewriter& r) {
          fold_gemm_factors(n, r);
          const TensorType& a = r.graph()[n.input(0)].type;
          const bool rows = a.ranked && a.rank() > 2;
          split_fused(n, rows ? "com.microsoft.FusedGemm" : "Gemm", r);
        },
    .to_standard = to_standard,
    .form = gemm_form,
    .float_rtol = 1e-4f,  // the order of the sum is free
    .float_atol = 1e-4f,
    .examples =
        {"(a: f32[2,4], b: f32[4,3], c: f32[3]) { y = com.microsoft.FusedGemm(a, b, c, "
         "activation=\"Relu\") return y }",
         "(a: f32[2,4], b: f32[4,3]) { y = com.microsoft.FusedGemm(a, b, activation=\"Clip\", "
         "activation_params=[0, 6]) return y }",
         "(a: f32[2,3,4], b: f32[5,4], c: f32[5]) { y = com.microsoft.FusedGemm(a, b, c, transB=1) "
         "return y }",
         "(a: i8[2,2,3] q(0.5, 3)) { y: i8[2,2,2] q(0.125, 4) = com.microsoft.FusedGemm(a, "
         "i8[2,3] q([0.25, 0.5], [0, 0], axis=0) {1, -2, 3, 4, 5, -6}, "
         "i32[2] q([0.125, 0.25], [0, 0], axis=0) {10, -20}, transB=1) return y }",
         "(a: i8[2,2] q(0.5, 3)) { y: i8[2,2] q(0.125, 4) = com.microsoft.FusedGemm(a, "
         "i8[2,2] q([0.25, 0.5], [0, 0], axis=0) {1, -2, 3, 4}, _, transB=1, activation=\"Relu\") "
         "return y }"},
};

}  // namespace longshore::ops::op_ms_fused_gemm
