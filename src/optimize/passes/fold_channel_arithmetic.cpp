#include "optimize/fold.hpp"

namespace longshore::passes {
namespace {

bool rewrite(Match& m) {
  const Node& n = m.node();
  const bool add = m.is("Add"), multiply = m.is("Mul"), subtract = m.is("Sub"),
             divide = m.is("Div");
  if (!add && !multiply && !subtract && !divide) return false;
  // The constant is on the right; Add and Mul also take it from the left.
  const bool swapped = (add || multiply) && m.constant(n.inputs[0]);
  const ValueId data = n.inputs[swapped ? 1 : 0], other = n.inputs[swapped ? 0 : 1];
  const Node* conv = sole_conv(m, data);
  if (!conv) return false;
  const std::int64_t channels = out_channels(m, *conv);
  const auto c = per_channel(m, other, channels, m.type(data).rank());
  if (!c) return false;
  std::vector<double> k(c->size(), 1.0), b(c->size(), 0.0);
  for (std::size_t i = 0; i < c->size(); i++) {
    if (add) b[i] = (*c)[i];
    if (subtract) b[i] = -static_cast<double>((*c)[i]);
    if (multiply) k[i] = (*c)[i];
    if (divide) k[i] = 1.0 / (*c)[i];
  }
  std::optional<Node> folded = scaled_conv(m, *conv, k, b);
  if (!folded) return false;
  m.replace(n.outputs[0], m.add_node(std::move(*folded)));
  return true;
}

}  // namespace

extern constinit const Pass pass_fold_channel_arithmetic = {
    .stage = Stage::fuse,
    .doc =
        "A constant per channel that is added to or multiplied with a Conv's or ConvTranspose's "
        "output "
        "goes into its weights and bias.",
    .rewrite = rewrite,
    .cases =
        {{"(x: f32[1,1,4,4]) { a = Conv(x, f32[2,1,1,1]{1, 2}) y = Add(a, f32[1,2,1,1]{3, 4}) "
          "return y }",
          "(x: f32[1,1,4,4]) { y = Conv(x, f32[2,1,1,1]{1, 2}, f32[2]{3, 4}) return y }"},
         {"(x: f32[1,1,4,4]) { a = Conv(x, f32[2,1,1,1]{1, 2}, f32[2]{1, 1}) y = "
          "Mul(f32[2,1,1]{3, 4}, a) return y }",
          "(x: f32[1,1,4,4]) { y = Conv(x, f32[2,1,1,1]{3, 8}, f32[2]{3, 4}) return y }"},
         {"(x: f32[1,1,4,4]) { a = ConvTranspose(x, f32[1,2,1,1]{1, 2}) y = Add(a, "
          "f32[1,2,1,1]{3, 4}) return y }",
          "(x: f32[1,1,4,4]) { y = ConvTranspose(x, f32[1,2,1,1]{1, 2}, f32[2]{3, 4}) return y }"},
         {"(x: f32[1,1,4,4]) { a = Conv(x, f32[2,1,1,1]{1, 2}) y = Add(a, f32[4]{1, 2, 3, 4}) "
          "return y }",
          ""}},
};

}  // namespace longshore::passes
