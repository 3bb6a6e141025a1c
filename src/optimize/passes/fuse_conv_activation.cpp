#include "optimize/fold.hpp"

namespace longshore::passes {
namespace {

bool rewrite(Match& m) {
  const Node& n = m.node();
  const std::optional<Activation> a = activation_of(m.graph(), n);
  if (!a || a->kind != Activation::Kind::clamp || m.type(n.outputs[0]).dtype != DType::f32)
    return false;
  const ValueId data = n.inputs[0];
  const Node* product = data == no_value ? nullptr : m.graph().def(data);
  if (!product || m.uses(data) != 1 || m.type(data).quantised()) return false;
  std::optional<Node> fused = fused_with(m.graph(), *product, *a);
  if (!fused) return false;
  m.replace(n.outputs[0], m.add_node(std::move(*fused)));
  return true;
}

}  // namespace

extern constinit const Pass pass_fuse_conv_activation = {
    .stage = Stage::fuse,
    .doc =
        "Relu, or Clip with constant bounds, after a Conv, Gemm or MatMul by constant weights that "
        "nobody else reads is computed with it.",
    .rewrite = rewrite,
    .cases = {{"(x: f32[1,1,4,4]) { a = Conv(x, f32[1,1,1,1]{2}) y = Relu(a) return y }",
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
              {"(x: f32[2,2]) { a = MatMul(x, f32[2,1]{1, 2}) y = Clip(a, _, f32[]{6}) return y }",
               "(x: f32[2,2]) { y = com.microsoft.FusedGemm(x, f32[2,1]{1, 2}, "
               "activation=\"Clip\", activation_params=[-inf, 6.0]) return y }"},
              {"(x: f32[2,2], w: f32[2,1]) { a = MatMul(x, w) y = Relu(a) return y }", ""},
              {"(x: f32[1,1,4,4]) { a = Conv(x, f32[1,1,1,1]{2}) y = Relu(a) return y, a }", ""}},
};

}  // namespace longshore::passes
