#include <fmt/format.h>

#include "quantize/quantize.hpp"

namespace longshore {

std::string print(const QuantizeReport& r) {
  std::string out = fmt::format("{} samples, {} nodes integer, {} float\n", r.samples,
                                r.quantised_nodes, r.float_nodes.size());
  for (const Unreadable& u : r.unreadable)
    out += fmt::format("unreadable: {}: {}\n", u.name, u.why);
  for (const std::string& w : r.warnings) out += "warning: " + w + "\n";
  constexpr std::string_view kinds[] = {"activation", "constant", "weights", "bias"};
  out += fmt::format("{:<10} {:<32} {:>24} {:>24} {:>12} {:>5}  {}\n", "kind", "value", "observed",
                     "chosen", "scale", "zero", "method");
  for (const ValueRecord& v : r.values) {
    const std::string scale = v.scale.size() == 1 ? fmt::format("{:.6g}", v.scale[0])
                                                  : fmt::format("{} scales", v.scale.size());
    out += fmt::format("{:<10} {:<32} {:>24} {:>24} {:>12} {:>5}  {}\n",
                       kinds[static_cast<std::size_t>(v.kind)], v.name,
                       fmt::format("[{:.4g}, {:.4g}]", v.observed.lowest, v.observed.highest),
                       fmt::format("[{:.4g}, {:.4g}]", v.chosen.lowest, v.chosen.highest), scale,
                       v.zero_point, v.method);
  }
  for (const FloatNode& n : r.float_nodes)
    out += fmt::format("float: {} ({}): {}\n", n.name, n.op, n.reason);
  return out;
}

}  // namespace longshore
