// What a BatchNormalization does with each channel.
#pragma once
#include "optimize/fold.hpp"

namespace longshore::passes {

/// x * factor[c] + offset[c], by channel.
struct Scaled {
  std::vector<double> factor, offset;
};
/// What a BatchNormalization that does not train does, where its numbers are constants, one of each
/// for every channel; nothing for other nodes.
inline std::optional<Scaled> batch_norm(const Match& m, const Node& n) {
  if (!m.is(n, "BatchNormalization") || n.attributes.integer("training_mode")) return {};
  for (std::size_t i = 1; i < n.outputs.size(); i++)
    if (n.outputs[i] != no_value) return {};
  const auto scale = floats(m, n.input(1)), shift = floats(m, n.input(2)),
             mean = floats(m, n.input(3)), variance = floats(m, n.input(4));
  if (!scale || !shift || !mean || !variance) return {};
  const std::size_t channels = scale->size();
  if (shift->size() != channels || mean->size() != channels || variance->size() != channels)
    return {};
  const double epsilon = n.attributes.real("epsilon", 1e-5f);
  Scaled out;
  for (std::size_t c = 0; c < channels; c++) {
    const double k = (*scale)[c] / std::sqrt((*variance)[c] + epsilon);
    out.factor.push_back(k);
    out.offset.push_back((*shift)[c] - (*mean)[c] * k);
  }
  return out;
}

}  // namespace longshore::passes
