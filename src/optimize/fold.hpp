// Shared by the passes that fold constants into the weights of a convolution or matrix product.
#pragma once
#include <cmath>
#include <vector>

#include "ir/pass.hpp"

namespace longshore::passes {

/// The elements of an f32 constant that is not quantised, or nothing.
inline std::optional<std::vector<float>> floats(const Match& m, ValueId v) {
  const Tensor* t = m.constant(v);
  if (!t || t->dtype != DType::f32 || m.type(v).quantised()) return {};
  const auto values = t->values<float>();
  return std::vector<float>(values.begin(), values.end());
}

/// An f32 constant that is one number, or one number per channel of an NCHW value of this rank
/// ([C,1,1] or [1,C,1,1] for rank 4), as C numbers.
inline std::optional<std::vector<float>> per_channel(const Match& m, ValueId v,
                                                     std::int64_t channels, int rank) {
  std::optional<std::vector<float>> values = floats(m, v);
  if (!values) return {};
  const Shape& shape = m.constant(v)->shape;
  if (shape.elements() == 1 && shape.rank <= rank)
    return std::vector<float>(static_cast<std::size_t>(channels), (*values)[0]);
  const int channel_axis = shape.rank - (rank - 1);  // axis 1 of the value, counted in the constant
  if (shape.rank > rank || channel_axis < 0 || shape[channel_axis] != channels ||
      shape.elements() != channels)
    return {};
  return values;
}

/// conv's weights times k[c] and its bias times k[c] plus b[c], as new constants of a copy.
/// Nothing where weights or bias are no f32 constants.
inline std::optional<Node> scaled_conv(Match& m, const Node& conv, const std::vector<double>& k,
                                       const std::vector<double>& b) {
  std::optional<std::vector<float>> w = floats(m, conv.input(1));
  if (!w || k.empty() || w->size() % k.size() != 0) return {};
  std::vector<float> bias(k.size());
  if (conv.input(2) != no_value) {
    const std::optional<std::vector<float>> old = floats(m, conv.input(2));
    if (!old || old->size() != k.size()) return {};
    bias = *old;
  }
  const std::size_t each = w->size() / k.size();
  for (std::size_t c = 0; c < k.size(); c++) {
    for (std::size_t i = 0; i < each; i++)
      (*w)[c * each + i] = static_cast<float>((*w)[c * each + i] * k[c]);
    bias[c] = static_cast<float>(bias[c] * k[c] + b[c]);
    if (!std::isfinite(k[c]) || !std::isfinite(bias[c])) return {};
  }
  Node out = conv;
  out.inputs.resize(3, no_value);
  const Shape w_shape = m.constant(conv.input(1))->shape;
  out.inputs[1] = m.add_constant(make_floats(w_shape, *w));
  out.inputs[2] = m.add_constant(make_floats(Shape{static_cast<std::int64_t>(k.size())}, bias));
  return out;
}

/// The convolution that alone feeds v, with known output channels; else null.
inline const Node* sole_conv(const Match& m, ValueId v) {
  const Node* conv = m.def(v, "Conv");
  if (!conv || m.uses(v) != 1 || !m.constant(conv->input(1)) || m.type(conv->input(1)).quantised())
    return nullptr;
  return conv;
}
inline std::int64_t out_channels(const Match& m, const Node& conv) {
  return m.constant(conv.input(1))->shape[0];
}

}  // namespace longshore::passes
