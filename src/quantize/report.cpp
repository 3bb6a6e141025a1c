#include <cmath>

#include <fmt/format.h>

#include "quantize/quantize.hpp"

namespace longshore {

std::string print(const Mixed& m) {
  std::string out = fmt::format("16-bit activations in {} of {} nodes: ", m.wide.size(), m.nodes);
  const auto compared = [&](const auto& shown) {
    out += shown(m.after, m.after_us);
    if (m.wide.empty()) return;
    out += fmt::format(", {} with none", shown(m.before, m.before_us));
    if (m.wide.size() < m.nodes) out += fmt::format(", {} with all", shown(m.all, m.all_us));
  };
  if (m.wanted_db > 0) {
    compared([](const Nearness& n, double) { return fmt::format("{:.1f} dB of float", n.db()); });
    out += fmt::format(" ({:.1f} wanted)", m.wanted_db);
  }
  if (m.max_drop > 0) {
    if (m.wanted_db > 0) out += "; ";
    compared(
        [](const Nearness& n, double) { return fmt::format("{:.2f} % lost", n.drop_percent()); });
    out += fmt::format(" (at most {:.2f} wanted)", m.max_drop);
  }
  if (m.after_us > 0) {
    out += "; ";
    compared([](const Nearness&, double us) { return fmt::format("{:.3f} ms", us * 1e-3); });
  }
  return out;
}

std::string print(const QuantizeReport& r) {
  std::string kinds_of_integers;
  for (const auto& [precision, count] : r.nodes)
    if (is_integer(precision))
      kinds_of_integers +=
          fmt::format("{}{} {}", kinds_of_integers.empty() ? "" : ", ", count, name(precision));
  if (!kinds_of_integers.empty()) kinds_of_integers = " (" + kinds_of_integers + ")";
  std::string out = fmt::format("{} samples, {} nodes integer{}, {} float\n", r.samples,
                                r.quantised_nodes, kinds_of_integers, r.float_nodes.size());
  for (const Unreadable& u : r.unreadable)
    out += fmt::format("unreadable: {}: {}\n", u.name, u.why);
  for (const std::string& w : r.warnings) out += "warning: " + w + "\n";
  for (const Equalised& e : r.equalised)
    out += fmt::format(
        "equalised: channels of '{}' and {} more, divided by {:.3g} to {:.3g}; "
        "expected noise {:.1f} dB lower\n",
        e.name, e.values - 1, e.least, e.most, -10 * std::log10(e.noise));
  if (r.mixed) out += print(*r.mixed) + "\n";
  constexpr std::string_view kinds[] = {"activation", "constant", "weights", "bias"};
  out += fmt::format("{:<10} {:<4} {:<32} {:>24} {:>24} {:>12} {:>5}  {}\n", "kind", "type",
                     "value", "observed", "chosen", "scale", "zero", "method");
  for (const ValueRecord& v : r.values) {
    const std::string scale = v.scale.size() == 1 ? fmt::format("{:.6g}", v.scale[0])
                                                  : fmt::format("{} scales", v.scale.size());
    out += fmt::format("{:<10} {:<4} {:<32} {:>24} {:>24} {:>12} {:>5}  {}\n",
                       kinds[static_cast<std::size_t>(v.kind)], name(v.dtype), v.name,
                       fmt::format("[{:.4g}, {:.4g}]", v.observed.lowest, v.observed.highest),
                       fmt::format("[{:.4g}, {:.4g}]", v.chosen.lowest, v.chosen.highest), scale,
                       v.zero_point, v.method);
  }
  for (const FloatNode& n : r.float_nodes)
    out += fmt::format("float: {} ({}): {}\n", n.name, n.op, n.reason.text);
  return out;
}

}  // namespace longshore
