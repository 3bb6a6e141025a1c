#include "optimize/passes/batch_norm.hpp"

namespace longshore::passes {
namespace {

bool rewrite(Match& m) {
  const Node& n = m.node();
  const std::optional<Scaled> scaled = batch_norm(m, n);
  const Node* conv = scaled ? sole_conv(m, n.inputs[0]) : nullptr;
  if (!conv || static_cast<std::int64_t>(scaled->factor.size()) != out_channels(m, *conv))
    return false;
  std::optional<Node> folded = scaled_conv(m, *conv, scaled->factor, scaled->offset);
  if (!folded) return false;
  m.replace(n.outputs[0], m.add_node(std::move(*folded)));
  return true;
}

}  // namespace

extern constinit const Pass pass_fold_batch_norm = {
    .stage = Stage::fuse,
    .doc =
        "BatchNormalization after a Conv or ConvTranspose that nobody else reads goes into its "
        "weights "
        "and bias.",
    .rewrite = rewrite,
    .cases =
        {{"(x: f32[1,1,4,4]) { a = Conv(x, f32[2,1,1,1]{1, 2}) y = BatchNormalization(a, "
          "f32[2]{2, 3}, f32[2]{1, 1}, "
          "f32[2]{0.5, 0}, f32[2]{4, 1}, epsilon=0.0) return y }",
          "(x: f32[1,1,4,4]) { y = Conv(x, f32[2,1,1,1]{1, 6}, f32[2]{0.5, 1}) return y }"},
         {"(x: f32[1,2,4,4]) { a = ConvTranspose(x, f32[2,2,1,1]{1, 2, 3, 4}) y = "
          "BatchNormalization(a, f32[2]{2, 3}, f32[2]{1, 1}, "
          "f32[2]{0.5, 0}, f32[2]{4, 1}, epsilon=0.0) return y }",
          "(x: f32[1,2,4,4]) { y = ConvTranspose(x, f32[2,2,1,1]{1, 6, 3, 12}, f32[2]{0.5, 1}) "
          "return y }"},
         {"(x: f32[1,1,4,4]) { a = Conv(x, f32[1,1,1,1]{2}) y = BatchNormalization(a, "
          "f32[1]{2}, f32[1]{1}, f32[1]{0}, "
          "f32[1]{1}) return y, a }",
          ""},
         {"(x: f32[1,1,4,4]) { a = Conv(x, f32[1,1,1,1]{2}) b = Relu(a) y = "
          "BatchNormalization(b, f32[1]{2}, f32[1]{1}, "
          "f32[1]{0}, f32[1]{1}) return y }",
          ""}},
};

}  // namespace longshore::passes
