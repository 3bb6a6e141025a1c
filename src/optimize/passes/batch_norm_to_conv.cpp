#include "optimize/passes/batch_norm.hpp"

namespace longshore::passes {
namespace {

bool rewrite(Match& m) {
  const Node& n = m.node();
  const std::optional<Scaled> scaled = batch_norm(m, n);
  if (!scaled) return false;
  const TensorType& x = m.type(n.inputs[0]);
  if (!x.ranked || x.rank() < 3 || x.rank() > 4 || x.dtype != DType::f32 || !x.dims[1].known())
    return false;
  const auto channels = static_cast<std::int64_t>(scaled->factor.size());
  if (x.dims[1].value != channels) return false;
  std::vector<float> weights, bias;
  for (std::size_t c = 0; c < scaled->factor.size(); c++) {
    weights.push_back(static_cast<float>(scaled->factor[c]));
    bias.push_back(static_cast<float>(scaled->offset[c]));
    if (!std::isfinite(weights.back()) || !std::isfinite(bias.back())) return false;
  }
  Shape shape{channels, 1, 1, 1};
  shape.rank = x.rank();
  Attributes attributes;
  attributes.set("group", channels);
  m.replace(n.outputs[0], m.add("Conv",
                                {n.inputs[0], m.add_constant(make_floats(shape, weights)),
                                 m.add_constant(make_floats(Shape{channels}, bias))},
                                std::move(attributes)));
  return true;
}

}  // namespace

extern constinit const Pass pass_batch_norm_to_conv = {
    .stage = Stage::unfold,  // after fold_batch_norm
    .doc =
        "A BatchNormalization of images that no convolution can take becomes a depthwise "
        "convolution of one tap, which has an integer form and takes activations behind it.",
    .rewrite = rewrite,
    .cases =
        {{"(x: f32[1,2,4,4]) { y = BatchNormalization(x, f32[2]{2, 3}, f32[2]{1, 1}, f32[2]{0.5, "
          "0}, f32[2]{4, 1}, epsilon=0.0) return y }",
          "(x: f32[1,2,4,4]) { y = Conv(x, f32[2,1,1,1]{1, 3}, f32[2]{0.5, 1}, group=2) return y "
          "}"},
         {"(x: f32[N,2,4]) { y = BatchNormalization(x, f32[2]{2, 3}, f32[2]{1, 1}, f32[2]{0, 0}, "
          "f32[2]{4, 1}, epsilon=0.0) return y }",
          "(x: f32[N,2,4]) { y = Conv(x, f32[2,1,1]{1, 3}, f32[2]{1, 1}, group=2) return y }"},
         // Two axes are no image.
         {"(x: f32[4,2]) { y = BatchNormalization(x, f32[2]{2, 3}, f32[2]{1, 1}, f32[2]{0, 0}, "
          "f32[2]{4, 1}) return y }",
          ""},
         {"(x: f32[1,2,4], s: f32[2]) { y = BatchNormalization(x, s, f32[2]{1, 1}, f32[2]{0, 0}, "
          "f32[2]{4, 1}) return y }",
          ""}},
};

}  // namespace longshore::passes
