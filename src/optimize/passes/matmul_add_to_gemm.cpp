#include "ir/pass.hpp"

namespace longshore::passes {
namespace {

bool rewrite(Match& m) {
  const Node& n = m.node();
  if (!m.is("Add") || m.type(n.outputs[0]).dtype != DType::f32) return false;
  for (std::size_t i = 0; i < 2; i++) {
    const Node* product = m.def(n.inputs[i], "MatMul");
    const ValueId bias = n.inputs[1 - i];
    if (!product || m.uses(n.inputs[i]) != 1) continue;
    const TensorType &a = m.type(product->inputs[0]), &b = m.type(product->inputs[1]);
    const Tensor* c = m.constant(bias);
    if (!a.ranked || a.rank() < 2 || b.rank() != 2 || !m.constant(product->inputs[1]) || !c ||
        c->shape.rank != 1)
      continue;
    if (!b.dims[1].known() || c->shape[0] != b.dims[1].value) continue;
    const std::string_view gemm = a.rank() == 2 ? "Gemm" : "com.microsoft.FusedGemm";
    m.replace(n.outputs[0], m.add(gemm, {product->inputs[0], product->inputs[1], bias}));
    return true;
  }
  return false;
}

}  // namespace

extern constinit const Pass pass_matmul_add_to_gemm = {
    .stage = Stage::fuse,
    .doc =
        "A matrix product with constant weights and a constant bias is Gemm; of more than two dims "
        "it is FusedGemm, which takes all but the last as rows.",
    .rewrite = rewrite,
    .cases = {{"(x: f32[2,3]) { a = MatMul(x, f32[3,2]{1, 2, 3, 4, 5, 6}) y = Add(f32[2]{7, 8}, a) "
               "return y }",
               "(x: f32[2,3]) { y = Gemm(x, f32[3,2]{1, 2, 3, 4, 5, 6}, f32[2]{7, 8}) return y }"},
              {"(x: f32[2,2,3]) { a = MatMul(x, f32[3,2]{1, 2, 3, 4, 5, 6}) y = Add(a, f32[2]{7, "
               "8}) return y }",
               "(x: f32[2,2,3]) { y = com.microsoft.FusedGemm(x, f32[3,2]{1, 2, 3, 4, 5, 6}, "
               "f32[2]{7, 8}) return y }"},
              {"(x: f32[3]) { a = MatMul(x, f32[3,2]{1, 2, 3, 4, 5, 6}) y = Add(a, f32[2]{7, 8}) "
               "return y }",
               ""}},
};

}  // namespace longshore::passes
