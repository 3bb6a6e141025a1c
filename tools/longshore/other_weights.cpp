#include "other_weights.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include "tensor/quant.hpp"

namespace longshore {
namespace {

/// Each output channel gets weights up to another magnitude, and a scale that spreads its sums over
/// the codes. Every other scale makes the multiplier a power of two, or nearly: the sums then often
/// lie halfway between two codes, where roundings differ.
void draw_weights(Value& weights, const Quantisation& input, const Quantisation& output,
                  std::mt19937_64& random) {
  std::vector<std::int16_t> out(static_cast<std::size_t>(weights.constant.elements()));
  const CodeRange codes = code_range(weights.constant.dtype);
  std::vector<float>& scales = weights.type.quant.scale;
  const std::size_t channels = static_cast<std::size_t>(weights.constant.shape[0]),
                    taps = out.size() / channels;
  for (std::size_t c = 0; c < channels; c++) {
    const int largest = codes.highest >> random() % 7;
    for (std::size_t i = c * taps; i < (c + 1) * taps; i++)
      out[i] = static_cast<std::int16_t>(
          static_cast<int>(random() % static_cast<unsigned>(2 * largest + 1)) - largest);
    if (scales.size() != channels) continue;
    // Of sums over codes of all sizes; a deviation of 40 fills 8 bits, and inputs and outputs of 16
    // bits are both 256 times as fine.
    const double deviation = 40 * largest * std::sqrt(static_cast<double>(taps));
    const double uneven = random() % 2 ? std::uniform_real_distribution<double>(1, 2)(random) : 1;
    const int shift = static_cast<int>(std::log2(deviation / 40)) + static_cast<int>(random() % 3);
    scales[c] = static_cast<float>(
        std::ldexp(static_cast<double>(output.scale[0]) / input.scale[0] * uneven, -shift));
  }
  if (weights.constant.dtype == DType::i16) {
    weights.constant = make_tensor<std::int16_t>(DType::i16, weights.constant.shape, out);
    return;
  }
  const std::vector<std::int8_t> bytes(out.begin(), out.end());
  weights.constant =
      make_tensor<std::int8_t>(weights.constant.dtype, weights.constant.shape, bytes);
}

/// Each shifts its channel to a code of `made` somewhere between the ends, or a little beyond.
void draw_bias(Value& bias, const Quantisation& input, const Quantisation& weights,
               const TensorType& made, std::mt19937_64& random) {
  const Quantisation& output = made.quant;
  const double beyond = 160.0 / 127 * code_range(made.dtype).highest;
  std::vector<std::int32_t> out(static_cast<std::size_t>(bias.constant.elements()));
  std::vector<float>& scales = bias.type.quant.scale;
  for (std::size_t c = 0; c < scales.size(); c++) scales[c] = input.scale[0] * weights.scale[c];
  for (std::size_t c = 0; c < out.size(); c++) {
    const double code = std::uniform_real_distribution<double>(-beyond, beyond)(random),
                 real = (code - output.zero_point[0]) * output.scale[0];
    out[c] = static_cast<std::int32_t>(
        std::clamp(real / scales[scales.size() == 1 ? 0 : c], -0x1p29, 0x1p29));
  }
  bias.constant = make_tensor<std::int32_t>(bias.constant.dtype, bias.constant.shape, out);
}

}  // namespace

std::optional<ComparedBundle> with_other_weights(const ComparedBundle& b, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Graph g = b.graph;
  const std::vector<int> uses = use_counts(g);
  const auto own = [&](ValueId v) { return g.constant(v) && uses[index(v)] == 1; };
  bool any = false;
  for (const Node& n : g.nodes) {
    const ValueId weights = n.input(1), bias = n.input(2);
    if (!n.op->macs || !own(weights) || (bias != no_value && !own(bias))) continue;
    Value& w = g[weights];
    const Quantisation &input = g[n.input(0)].type.quant, &output = g[n.output()].type.quant;
    const bool codes = w.type.dtype == DType::i8 || w.type.dtype == DType::i16;
    if (!codes || w.constant.elements() == 0 || !w.type.quantised() || !input.present() ||
        !output.present() ||
        (bias != no_value && g[bias].type.quant.scale.size() != w.type.quant.scale.size()))
      continue;
    draw_weights(w, input, output, random);
    if (bias != no_value) draw_bias(g[bias], input, w.type.quant, g[n.output()].type, random);
    any = true;
  }
  if (!any) return std::nullopt;
  ComparedBundle out = compile_compared(b.file, std::move(g), *b.target, b.choices);
  if (!std::ranges::equal(out.program.queues, b.program.queues)) return std::nullopt;
  return out;
}

}  // namespace longshore
