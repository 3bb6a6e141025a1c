#include "build_report.hpp"

#include <algorithm>
#include <ostream>

#include <fmt/format.h>

namespace longshore {
namespace {

/// The end of a name says more than its beginning: exporters write paths.
std::string short_name(const std::string& s, std::size_t most) {
  return s.size() <= most ? s : "..." + s.substr(s.size() - (most - 3));
}

/// The node that a fused or alias node's work is part of, or itself.
std::map<std::size_t, std::size_t> fused_into(const plan::Plan& p) {
  std::map<std::size_t, std::size_t> out;
  for (const plan::Layer& l : p.layers)
    for (std::size_t s = 1; s < l.stages.size(); s++) out[l.stages[s].node] = l.head();
  return out;
}

std::string kib(std::uint64_t bytes) {
  return fmt::format("{:.1f} KiB", static_cast<double>(bytes) / 1024);
}

/// What handing over to a node and from it takes, which is no part of its own time.
std::string beside(const TimeSplit& time) {
  const double waiting = time.of(Activity::waiting) * 1e-3, cache = time.of(Activity::cache) * 1e-3;
  std::string out;
  if (waiting > 0) out += fmt::format("+ {:.1f} us waiting", waiting);
  if (cache > 0) out += fmt::format("{}+ {:.1f} us cache", out.empty() ? "" : " ", cache);
  return out;
}

}  // namespace

double BuildReport::node_ms(std::size_t node) const {
  if (node < timing.layers.size()) return timing.layers[node].time.own_ns() * 1e-6;
  return plan.placement.nodes[node].cpu_us() * 1e-3;
}

double BuildReport::latency_ms() const {
  if (plan.placement.target.machine.present) return timing.total_ns * 1e-6;
  double us = 0;
  for (const NodePlacement& n : plan.placement.nodes) us += n.cpu_us();
  return us * 1e-3;
}

nlohmann::json to_json(const BuildReport& r) {
  const Placement& p = r.plan.placement;
  nlohmann::json out = {{"target", p.target.name},
                        {"npu_mac_share", p.npu_mac_share()},
                        {"macs", p.macs()},
                        {"latency_ms", r.latency_ms()},
                        {"arena_bytes", r.arena_bytes},
                        {"random_calibration", r.random_calibration}};
  if (p.target.machine.present) {
    for (int a = 0; a < activity_count; a++)
      out["split_ms"][name(Activity(a))] = r.timing.time.ns[a] * 1e-6;
    out["handover_ms"] = r.timing.handover_ns() * 1e-6;
    out["sram_peak_bytes"] = r.timing.sram_peak_bytes;
    out["sram_bytes"] = p.target.machine.sram_bytes;
    out["dram_peak_bytes"] = r.arena_bytes;
    out["dram_lower_bound_bytes"] = r.plan.arena.lower_bound;
    out["dram_read_bytes"] = r.timing.dram_read_bytes;
    out["dram_write_bytes"] = r.timing.dram_write_bytes;
    out["energy_uj"] = r.timing.energy_uj;
  }
  const auto fused = fused_into(r.plan);
  out["nodes"] = nlohmann::json::array();
  for (std::size_t i = 0; i < p.nodes.size(); i++) {
    const NodePlacement& n = p.nodes[i];
    const Node& node = p.graph.nodes[i];
    nlohmann::json reasons = nlohmann::json::array();
    for (const Reason& reason : n.reasons())
      reasons.push_back(
          {{"text", reason.text}, {"where", reason.where}, {"change", reason.change}});
    nlohmann::json entry = {{"name", node.origin.name},
                            {"op", qualified_name(*node.op)},
                            {"unit", n.unit()},
                            {"form", n.form() ? n.form()->name : n.spec.form},
                            {"macs", n.macs},
                            {"latency_ms", r.node_ms(i)},
                            {"cpu_us", n.cpu_us()},
                            {"npu_us", n.npu_us() >= 0 ? nlohmann::json(n.npu_us()) : nlohmann::json()},
                            {"move_us", n.move_us},
                            {"reasons", reasons}};
    if (i < r.timing.layers.size()) {  // beside its own time
      entry["cache_us"] = r.timing.layers[i].time.of(Activity::cache) * 1e-3;
      entry["waiting_us"] = r.timing.layers[i].time.of(Activity::waiting) * 1e-3;
    }
    if (const auto head = fused.find(i); head != fused.end())
      entry["fused_into"] = p.graph.nodes[head->second].origin.name;
    out["nodes"].push_back(std::move(entry));
  }
  return out;
}

void show(std::ostream& out, const BuildReport& r) {
  const Placement& p = r.plan.placement;
  const double total = std::max(r.latency_ms(), 1e-9);
  const auto fused = fused_into(r.plan);
  out << fmt::format("{:<32} {:<20} {:<4} {:>9} {:>9} {:>6}  {}\n", "node", "op", "unit", "MMAC",
                     "us", "%", "note");
  std::size_t folded = 0;
  for (std::size_t i = 0; i < p.nodes.size(); i++) {
    const NodePlacement& n = p.nodes[i];
    const Node& node = p.graph.nodes[i];
    const double us = r.node_ms(i) * 1e3;
    std::string note;
    if (const auto head = fused.find(i); head != fused.end())
      note = "fused into " + short_name(p.graph.nodes[head->second].origin.name, 30);
    else if (n.on_npu() && us == 0)
      note = "no work: other addresses";
    if (i < r.timing.layers.size()) note += beside(r.timing.layers[i].time);
    if (!n.on_npu() && us == 0 && n.reasons().size() == 1 && node.op->view) folded++;
    out << fmt::format("{:<32} {:<20} {:<4} {:>9.2f} {:>9.1f} {:>6.1f}{}{}\n",
                       short_name(node.origin.name, 32), short_name(std::string(node.op->name), 20),
                       n.unit(), static_cast<double>(n.macs) * 1e-6, us,
                       us * 0.1 / total, note.empty() ? "" : "  ", note);
    if (n.on_npu() || !p.target.machine.present) continue;
    for (const Reason& reason : n.reasons())
      out << "      " << reason.text << (reason.where.empty() ? "" : " (" + reason.where + ")")
          << "; " << reason.change << "\n";
    if (n.npu_us() >= 0)
      out << fmt::format(
          "      price: {:.1f} us on the CPU, {:.1f} us on the NPU, {:.1f} us to hand over\n",
          n.cpu_us(), n.npu_us(), n.move_us);
    else
      out << fmt::format("      price: {:.1f} us on the CPU\n", n.cpu_us());
  }
  if (p.target.machine.present) {
    const double us = r.timing.handover_ns() * 1e-3;
    out << fmt::format("{:<32} {:<20} {:<4} {:>9} {:>9.1f} {:>6.1f}  {}\n", "hand-over", "", "", "",
                       us, us * 0.1 / total, "cache, waiting, idle: the rows add up to the total");
  }
  out << fmt::format("\ntarget {}: {:.3f} ms predicted, {:.1f} % of {:.3f} GMAC on the NPU\n",
                     p.target.name, r.latency_ms(), p.npu_mac_share() * 100,
                     static_cast<double>(p.macs()) * 1e-9);
  if (p.target.machine.present) {
    out << "  time   ";
    for (int a = 0; a < activity_count; a++)
      out << fmt::format(" {} {:.3f} ms{}", name(Activity(a)), r.timing.time.ns[a] * 1e-6,
                         a + 1 < activity_count ? "," : "\n");
    out << fmt::format("  SRAM    peak {} of {}\n", kib(r.timing.sram_peak_bytes),
                       kib(p.target.machine.sram_bytes));
    out << fmt::format("  DRAM    arena {} (lower bound {}), {} read, {} written\n",
                       kib(r.arena_bytes), kib(r.plan.arena.lower_bound),
                       kib(r.timing.dram_read_bytes), kib(r.timing.dram_write_bytes));
    if (r.timing.energy_uj > 0) out << fmt::format("  energy  {:.1f} uJ\n", r.timing.energy_uj);
  } else {
    out << fmt::format("  memory  arena {}\n", kib(r.arena_bytes));
  }
  if (!r.file.empty()) out << "  bundle  " << r.file << "\n";
}

}  // namespace longshore
