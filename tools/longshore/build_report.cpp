#include "build_report.hpp"

#include <algorithm>
#include <ostream>

#include <fmt/format.h>

#include "compile/fallbacks.hpp"
#include "say.hpp"
#include "target_options.hpp"

namespace longshore {
namespace {

Json us_or_null(double us) { return us >= 0 ? Json(us) : Json(); }

/// What handing over to a node and from it takes, which is no part of its own time.
std::string beside(const TimeSplit& time) {
  const double waiting = time.of(Activity::waiting) * 1e-3, cache = time.of(Activity::cache) * 1e-3;
  std::string out;
  if (waiting > 0) out += fmt::format("+ {:.1f} us waiting", waiting);
  if (cache > 0) out += fmt::format("{}+ {:.1f} us cache", out.empty() ? "" : " ", cache);
  return out;
}

}  // namespace

bool unpriced(const NodePlacement& n) { return !n.on_npu() && n.cpu_us() < 0; }

std::map<std::size_t, std::size_t> fused_into(const plan::Plan& p) {
  std::map<std::size_t, std::size_t> out;
  for (const plan::Layer& l : p.layers)
    for (std::size_t s = 1; s < l.stages.size(); s++) out[l.stages[s].node] = l.head();
  return out;
}

double node_ms(const compile::Compiled& c, std::size_t node) {
  if (node < c.timing.layers.size()) return c.timing.layers[node].time.own_ns() * 1e-6;
  return std::max(c.plan.placement.nodes[node].cpu_us(), 0.0) * 1e-3;
}

std::string text_of(const Reason& r) {
  return r.text + (r.where.empty() ? "" : " (" + r.where + ")") +
         (r.change.empty() ? "" : "; " + r.change);
}

std::string text_of(const PredictionError& e) {
  return fmt::format(
      "on the {} net{} that it was not fitted to, this target is off by {:g} % in the median, "
      "{:g} % at most, against {}",
      e.nets, e.nets == 1 ? "" : "s", e.median_percent, e.most_percent, e.against);
}

Json error_json(const std::optional<PredictionError>& e) {
  if (!e) return {};
  return {{"against", e->against},
          {"nets", e->nets},
          {"median_percent", e->median_percent},
          {"most_percent", e->most_percent}};
}

std::string split_line(const TimeSplit& time) {
  std::string parts;
  for (int a = 0; a < activity_count; a++)
    parts += fmt::format("{}{} {}", a ? ", " : "", name(Activity(a)), shown_ms(time.ns[a] * 1e-6));
  return "  time    " + wrapped(parts, 10, 10, ", ") + "\n";
}

double latency_ms(const compile::Compiled& c) {
  if (c.npu()) return c.timing.total_ns * 1e-6;
  double us = 0;
  for (const NodePlacement& n : c.plan.placement.nodes) us += std::max(n.cpu_us(), 0.0);
  return us * 1e-3;
}

Json to_json(const compile::Compiled& c) {
  const Placement& p = c.plan.placement;
  Json out = {{"target", p.target.name},
              {"npu_mac_share", p.npu_mac_share()},
              {"macs", p.macs()},
              {"latency_ms", latency_ms(c)},
              {"error", error_json(p.target.error)},
              {"unpriced_nodes", std::ranges::count_if(p.nodes, unpriced)},
              {"arena_bytes", c.program.arena_bytes},
              {"random_calibration", c.random_calibration}};
  for (const auto& [key, value] : p.target.changes) out["set"][key] = value;
  if (p.target.machine.present) {
    for (int a = 0; a < activity_count; a++)
      out["split_ms"][name(Activity(a))] = c.timing.time.ns[a] * 1e-6;
    out["handover_ms"] = c.timing.handover_ns() * 1e-6;
    out["sram_peak_bytes"] = c.timing.sram_peak_bytes;
    out["sram_lower_bound_bytes"] = c.plan.sram_peak();
    out["sram_bytes"] = p.target.machine.sram_bytes;
    out["dram_peak_bytes"] = c.program.arena_bytes;
    out["dram_lower_bound_bytes"] = c.plan.arena.lower_bound;
    out["dram_read_bytes"] = c.timing.dram_read_bytes;
    out["dram_write_bytes"] = c.timing.dram_write_bytes;
    out["energy_uj"] = c.timing.energy_uj;
  }
  const auto fused = fused_into(c.plan);
  std::map<std::size_t, std::string_view> on_cpu;
  for (const compile::Fallback& f : compile::fallbacks(c)) on_cpu[f.node] = name(f.kind);
  out["nodes"] = Json::array();
  for (std::size_t i = 0; i < p.nodes.size(); i++) {
    const NodePlacement& n = p.nodes[i];
    const Node& node = p.graph.nodes[i];
    Json reasons = Json::array();
    for (const Reason& reason : compile::reasons_of(c, i))
      reasons.push_back(
          {{"text", reason.text}, {"where", reason.where}, {"change", reason.change}});
    Json entry = {{"name", node.origin.name},
                  {"op", qualified_name(*node.op)},
                  {"unit", n.unit()},
                  {"form", n.form() ? n.form()->name : n.spec.form},
                  {"macs", n.macs},
                  {"latency_ms", unpriced(n) ? Json() : Json(node_ms(c, i))},
                  {"cpu_us", us_or_null(n.cpu_us())},
                  {"npu_us", us_or_null(n.npu_us())},
                  {"move_us", n.move_us},
                  {"reasons", reasons}};
    if (const auto kind = on_cpu.find(i); kind != on_cpu.end()) entry["kept_by"] = kind->second;
    if (i < c.timing.layers.size()) {  // beside its own time
      entry["cache_us"] = c.timing.layers[i].time.of(Activity::cache) * 1e-3;
      entry["waiting_us"] = c.timing.layers[i].time.of(Activity::waiting) * 1e-3;
    }
    if (const auto head = fused.find(i); head != fused.end())
      entry["fused_into"] = p.graph.nodes[head->second].origin.name;
    out["nodes"].push_back(std::move(entry));
  }
  return out;
}

void show_layers(std::ostream& out, const compile::Compiled& c) {
  const Placement& p = c.plan.placement;
  const double total = std::max(latency_ms(c), 1e-9);
  const auto fused = fused_into(c.plan);
  out << fmt::format("{:<32} {:<17} {:<4} {:>9} {:>8} {:>5}\n", "node", "op", "unit", "MMAC", "us",
                     "%");
  for (std::size_t i = 0; i < p.nodes.size(); i++) {
    const NodePlacement& n = p.nodes[i];
    const Node& node = p.graph.nodes[i];
    const double us = node_ms(c, i) * 1e3;
    out << fmt::format("{:<32} {:<17} {:<4} ", short_name(node.origin.name, 32),
                       short_name(std::string(node.op->name), 17), n.unit());
    if (const auto head = fused.find(i); head != fused.end()) {
      out << "in " << short_name(p.graph.nodes[head->second].origin.name, 21) << "\n";
      continue;
    }
    if (n.on_npu() && us == 0) {
      out << "other addresses, no work\n";
      continue;
    }
    if (unpriced(n))
      out << fmt::format("{:>9.2f} {:>8} {:>5}\n", static_cast<double>(n.macs) * 1e-6, "?", "?");
    else
      out << fmt::format("{:>9.2f} {:>8.1f} {:>5.1f}\n", static_cast<double>(n.macs) * 1e-6, us,
                         us * 0.1 / total);
    if (i < c.timing.layers.size())
      if (const std::string more = beside(c.timing.layers[i].time); !more.empty())
        out << "      " << more << "\n";
    if (n.on_npu() || !p.target.machine.present) continue;
    for (const Reason& reason : compile::reasons_of(c, i))
      out << "      " << wrapped(text_of(reason), 6, 8) << "\n";
    if (n.npu_us() >= 0)
      out << fmt::format(
          "      price: {:.1f} us on the CPU, {:.1f} us on the NPU, {:.1f} us to hand over\n",
          n.cpu_us(), n.npu_us(), n.move_us);
    else if (unpriced(n))
      out << "      price: none, its dims are known at run time only\n";
    else
      out << fmt::format("      price: {:.1f} us on the CPU\n", n.cpu_us());
  }
  show_handover(out, c);
}

void show_handover(std::ostream& out, const compile::Compiled& c) {
  if (!c.npu()) return;
  const double us = c.timing.handover_ns() * 1e-3;
  out << fmt::format("{:<32} {:<17} {:<4} {:>9} {:>8.1f} {:>5.1f}\n", "(cache, waiting, idle)",
                     "hand-over", "", "", us, us * 0.1 / std::max(latency_ms(c), 1e-9));
}

void show_totals(std::ostream& out, const compile::Compiled& c, const std::string& file) {
  const Placement& p = c.plan.placement;
  const auto without = std::ranges::count_if(p.nodes, unpriced);
  out << fmt::format("\ntarget {}: {}{} predicted, {:.1f} % of {} MACs on the NPU\n", p.target.name,
                     without ? "at least " : "", shown_ms(latency_ms(c)), p.npu_mac_share() * 100,
                     shown_count(static_cast<double>(p.macs())));
  if (p.target.error) out << "  error   " << wrapped(text_of(*p.target.error), 10, 10) << "\n";
  if (!p.target.changes.empty())
    out << "  set     " << wrapped(shown_changes(p.target), 10, 10, ", ") << "\n";
  if (without)
    out << fmt::format("  without {} node{}, whose dims are known at run time only\n", without,
                       without == 1 ? "" : "s");
  if (p.target.machine.present) {
    out << split_line(c.timing.time);
    out << fmt::format("  SRAM    peak {} of {} (lower bound {})\n",
                       shown_bytes(c.timing.sram_peak_bytes),
                       shown_bytes(p.target.machine.sram_bytes), shown_bytes(c.plan.sram_peak()));
    const std::string dram =
        fmt::format("arena {} (lower bound {}), {} read, {} written",
                    shown_bytes(c.program.arena_bytes), shown_bytes(c.plan.arena.lower_bound),
                    shown_bytes(c.timing.dram_read_bytes), shown_bytes(c.timing.dram_write_bytes));
    out << "  DRAM    " << wrapped(dram, 10, 10, ", ") << "\n";
    if (c.timing.energy_uj > 0) out << fmt::format("  energy  {:.1f} uJ\n", c.timing.energy_uj);
  } else {
    out << fmt::format("  memory  arena {}\n", shown_bytes(c.program.arena_bytes));
  }
  if (!file.empty()) out << "  bundle  " << file << "\n";
}

}  // namespace longshore
