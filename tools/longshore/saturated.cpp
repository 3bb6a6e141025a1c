#include "saturated.hpp"

#include <fmt/format.h>

#include "ir/op.hpp"
#include "say.hpp"

namespace longshore {
namespace {

/// The codes that an input becomes first; null where it stays as it is.
const TensorType* codes_of(const Graph& g, ValueId input) {
  if (g[input].type.dtype != DType::f32) return nullptr;
  for (const Node& n : g.nodes)
    if (n.op->quant == Quant::recode && n.inputs[0] == input) {
      const TensorType& type = g[n.outputs[0]].type;
      return type.quant.scale.size() == 1 ? &type : nullptr;
    }
  return nullptr;
}

}  // namespace

void warn_of_saturated(const Graph& g, ValueId input, std::span<const Tensor> samples) {
  const TensorType* codes = codes_of(g, input);
  if (!codes) return;
  const CodeRange range = code_range(codes->dtype);
  const double scale = codes->quant.scale[0], zero = codes->quant.zero_point[0];
  const double low = scale * (range.lowest - zero), high = scale * (range.highest - zero);
  std::size_t all = 0, beyond = 0;
  for (const Tensor& t : samples)
    for (const float x : t.values<float>()) {
      all++;
      beyond += x < low - scale / 2 || x > high + scale / 2;
    }
  if (2 * beyond <= all) return;
  warn(fmt::format(
      "input '{}': {:.0f} % of it lies beyond {:.4g} to {:.4g}, where its codes end: "
      "were others of --mean and --std meant?",
      g[input].name, 100.0 * static_cast<double>(beyond) / static_cast<double>(all), low, high));
}

}  // namespace longshore
