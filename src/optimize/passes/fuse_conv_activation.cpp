#include <limits>

#include "optimize/fold.hpp"

namespace longshore::passes {
namespace {

/// Relu, or Clip with constant bounds, as the name and parameters of a fused activation.
bool activation(const Match& m, std::string_view& name, Reals& parameters) {
  const Node& n = m.node();
  if (m.type(n.outputs[0]).dtype != DType::f32) return false;
  if (m.is("Relu")) {
    name = "Relu";
    return true;
  }
  if (!m.is("Clip")) return false;
  const auto low = m.scalar(n.input(1)), high = m.scalar(n.input(2));
  if ((n.input(1) != no_value && !low) || (n.input(2) != no_value && !high)) return false;
  name = "Clip";
  constexpr double infinity = std::numeric_limits<double>::infinity();
  parameters = {static_cast<float>(low.value_or(-infinity)),
                static_cast<float>(high.value_or(infinity))};
  return !(parameters[0] > parameters[1]);
}

bool rewrite(Match& m) {
  const Node& n = m.node();
  std::string_view name;
  Reals parameters;
  if (n.inputs.empty() || !activation(m, name, parameters)) return false;
  const ValueId data = n.inputs[0];
  const Node* conv = m.def(data, "Conv");
  const Node* gemm = m.def(data, "Gemm");
  if ((!conv && !gemm) || m.uses(data) != 1 || m.type(data).quantised()) return false;
  Node fused = conv ? *conv : *gemm;
  fused.op = &op_named(conv ? "com.microsoft.FusedConv" : "com.microsoft.FusedGemm");
  fused.attributes.set("activation", std::string(name));
  if (conv) {
    if (!parameters.empty()) fused.attributes.set("activation_params", parameters);
  } else if (!parameters.empty()) {
    fused.attributes.set("activation_alpha", parameters[0]);
    fused.attributes.set("activation_beta", parameters[1]);
  }
  m.replace(n.outputs[0], m.add_node(std::move(fused)));
  return true;
}

}  // namespace

extern constinit const Pass pass_fuse_conv_activation = {
    .stage = Stage::fuse,
    .doc =
        "Relu, or Clip with constant bounds, after a Conv or Gemm that nobody else reads is "
        "computed with it.",
    .rewrite = rewrite,
    .cases =
        {{"(x: f32[1,1,4,4]) { a = Conv(x, f32[1,1,1,1]{2}) y = Relu(a) return y }",
          "(x: f32[1,1,4,4]) { y = com.microsoft.FusedConv(x, f32[1,1,1,1]{2}, "
          "activation=\"Relu\") return y }"},
         {"(x: f32[1,1,4,4]) { a = Conv(x, f32[1,1,1,1]{2}, strides=[2, 2]) y = Clip(a, "
          "f32[]{0}, f32[]{6}) return y }",
          "(x: f32[1,1,4,4]) { y = com.microsoft.FusedConv(x, f32[1,1,1,1]{2}, strides=[2, "
          "2], activation=\"Clip\", "
          "activation_params=[0.0, 6.0]) return y }"},
         // Without an upper bound infinity stays infinity.
         {"(x: f32[1,1,4,4]) { a = Conv(x, f32[1,1,1,1]{2}) y = Clip(a, f32[]{0.5}) return y }",
          "(x: f32[1,1,4,4]) { y = com.microsoft.FusedConv(x, f32[1,1,1,1]{2}, "
          "activation=\"Clip\", activation_params=[0.5, inf]) return y }"},
         {"(x: f32[2,2]) { a = Gemm(x, f32[2,1]{1, 2}) y = Relu(a) return y }",
          "(x: f32[2,2]) { y = com.microsoft.FusedGemm(x, f32[2,1]{1, 2}, "
          "activation=\"Relu\") return y }"},
         {"(x: f32[1,1,4,4]) { a = Conv(x, f32[1,1,1,1]{2}) y = Relu(a) return y, a }", ""}},
};

}  // namespace longshore::passes
