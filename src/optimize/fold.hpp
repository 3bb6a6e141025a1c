// Shared by the passes that fold constants into the weights of a convolution or matrix product.
#pragma once
#include <algorithm>
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
  const std::size_t w_at = *conv.op->schema.weights(),
                    b_at = *conv.op->schema.input_with(InputRole::bias);
  std::optional<std::vector<float>> w = floats(m, conv.input(w_at));
  if (!w || k.empty() || w->size() % k.size() != 0) return {};
  std::vector<float> bias(k.size());
  if (conv.input(b_at) != no_value) {
    const std::optional<std::vector<float>> old = floats(m, conv.input(b_at));
    if (!old || old->size() != k.size()) return {};
    bias = *old;
  }
  const Shape w_shape = m.constant(conv.input(w_at))->shape;
  const auto each = static_cast<std::size_t>(  // neighbours of one channel
      w_shape.product(conv.op->weight_axis({conv, m.graph()}) + 1, w_shape.rank));
  for (std::size_t i = 0; i < w->size(); i++)
    (*w)[i] = static_cast<float>((*w)[i] * k[i / each % k.size()]);
  for (std::size_t c = 0; c < k.size(); c++) {
    bias[c] = static_cast<float>(bias[c] * k[c] + b[c]);
    if (!std::isfinite(k[c]) || !std::isfinite(bias[c])) return {};
  }
  Node out = conv;
  out.inputs.resize(std::max(out.inputs.size(), b_at + 1), no_value);
  out.inputs[w_at] = m.add_constant(make_floats(w_shape, *w));
  out.inputs[b_at] = m.add_constant(make_floats(Shape{static_cast<std::int64_t>(k.size())}, bias));
  return out;
}

/// The convolution, transposed or not, without an activation that alone feeds v, with constant
/// weights; else null.
inline const Node* sole_conv(const Match& m, ValueId v) {
  const Node* n = v == no_value ? nullptr : m.graph().def(v);
  const ValueId w = n ? weights_of(m.graph(), *n) : no_value;
  if (w == no_value || m.uses(v) != 1 || m.type(w).quantised()) return nullptr;
  const bool by_channel = n->op->schema.input_with(InputRole::bias) && n->op->weight_axis &&
                          n->op->weight_axis({*n, m.graph()}) >= 0 && m.constant(w)->shape.rank > 2;
  return by_channel && !n->op->schema.has_attribute("activation") ? n : nullptr;
}
inline std::int64_t out_channels(const Match& m, const Node& conv) {
  return m.constant(weights_of(m.graph(), conv))->shape[conv.op->weight_axis({conv, m.graph()})];
}

}  // namespace longshore::passes
