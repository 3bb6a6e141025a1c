#include "build_report.hpp"

#include <algorithm>
#include <ostream>

#include <fmt/format.h>

#include "compile/fallbacks.hpp"
#include "measure/layer_use.hpp"
#include "say.hpp"
#include "target_options.hpp"

namespace longshore {
namespace {

Json us_or_null(double us) { return us >= 0 ? Json(us) : Json(); }

void add_use(Json& entry, const compile::Compiled& c, std::size_t node, const LayerUse& use) {
  entry["bound_by"] = use.bound == BoundBy::nothing ? Json() : Json(name(use.bound));
  entry["busy_us"] = {{"mac", use.busy_of(Queue::mac) * 1e-3},
                      {"vector", use.busy_of(Queue::vector) * 1e-3},
                      {"dma_in", use.busy_of(Queue::dma_in) * 1e-3},
                      {"dma_out", use.busy_of(Queue::dma_out) * 1e-3},
                      {"dispatch", use.dispatch_ns * 1e-3},
                      {"host", use.host_ns * 1e-3}};
  const double utilisation = mac_utilisation(c, node);
  entry["mac_utilisation"] = utilisation > 0 ? Json(utilisation) : Json();
  entry["bytes"] = {
      {"weights", use.weight_bytes}, {"input", use.input_bytes}, {"output", use.output_bytes}};
  entry["sram_bytes"] = use.sram_bytes;
  entry["energy_uj"] = c.timing.energy_uj > 0 ? Json(use.energy_uj) : Json();
}

void show_roof(std::ostream& out, const compile::Compiled& c) {
  const Roofline roof = roofline(c.program, c.timing);
  const std::string bounds = fmt::format(
      "array {} at its peak, DRAM {} for what is moved ({} for the constants once), {:.1f} % of "
      "that roof reached",
      shown_ms(roof.compute_ns * 1e-6), shown_ms(roof.dram_ns * 1e-6),
      shown_ms(roof.constants_ns * 1e-6), roof.reached() * 100);
  out << "  roof    " << wrapped(bounds, 10, 10) << "\n";
  const std::string tops =
      fmt::format("{:.3f} TOPS of {:.3f}, {:.1f} % of the time only moves data", reached_tops(c),
                  peak_tops(c), movement_ms(c) * 100 / std::max(latency_ms(c), 1e-9));
  out << "  reach   " << wrapped(tops, 10, 10) << "\n";
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

double mac_utilisation(const compile::Compiled& c, std::size_t node) {
  if (node >= c.timing.layers.size()) return 0;
  const LayerTiming& t = c.timing.layers[node];
  return t.macs == 0 || t.time.own_ns() <= 0
             ? 0
             : static_cast<double>(t.macs) / t.time.own_ns() / peak_macs_per_ns(c.program.machine);
}

double peak_tops(const compile::Compiled& c) { return 2e-3 * peak_macs_per_ns(c.program.machine); }

double reached_tops(const compile::Compiled& c) {
  return c.timing.total_ns > 0 ? 2e-3 * static_cast<double>(c.timing.macs) / c.timing.total_ns : 0;
}

double movement_ms(const compile::Compiled& c) {
  double ns = c.timing.time.of(Activity::dma) + c.timing.time.of(Activity::cache) +
              c.timing.no_layer.of(Activity::host);  // inputs copied into the arena
  const Placement& p = c.plan.placement;
  for (std::size_t i = 0; i < c.timing.layers.size(); i++) {
    const forms::FormDef* form = forms::find(p.nodes[i].spec.form);
    if (form == nullptr || !form->copies) continue;
    const TimeSplit& time = c.timing.layers[i].time;
    ns += time.of(Activity::compute) + time.of(Activity::dispatch) + time.of(Activity::host);
  }
  return ns * 1e-6;
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
  for (const Finding& f : c.findings)
    out["calibration_findings"].push_back(
        {{"check", f.check}, {"what", f.what}, {"evidence", f.evidence}, {"remedy", f.remedy}});
  if (const std::optional<Mixed>& m = c.quantisation.mixed) {
    const auto near = [](const Nearness& n, double us) {
      return Json{{"db", n.db()}, {"drop_percent", n.drop_percent()}, {"ms", us * 1e-3}};
    };
    out["mixed"] = {{"wanted_db", m->wanted_db},
                    {"max_drop", m->max_drop},
                    {"before", near(m->before, m->before_us)},
                    {"after", near(m->after, m->after_us)},
                    {"nodes", static_cast<unsigned long>(m->nodes)},
                    {"wide", m->wide}};
    if (m->all_us > 0) out["mixed"]["all"] = near(m->all, m->all_us);
  }
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
    const Roofline roof = roofline(c.program, c.timing);
    out["roofline"] = {{"compute_ms", roof.compute_ns * 1e-6},
                       {"dram_ms", roof.dram_ns * 1e-6},
                       {"constants_ms", roof.constants_ns * 1e-6},
                       {"reached", roof.reached()},
                       {"peak_tops", peak_tops(c)},
                       {"reached_tops", reached_tops(c)}};
    out["movement_share"] = movement_ms(c) / std::max(latency_ms(c), 1e-9);
  }
  const std::vector<LayerUse> uses = layer_uses(c.program, c.timing);
  const auto fused = fused_into(c.plan);
  std::map<std::size_t, std::string_view> on_cpu;
  for (const compile::Fallback& f : compile::fallbacks(c)) on_cpu[f.node] = name(f.kind);
  const double total_ms = std::max(latency_ms(c), 1e-9);
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
                  {"share", unpriced(n) ? Json() : Json(node_ms(c, i) / total_ms)},
                  {"cpu_us", us_or_null(n.cpu_us())},
                  {"npu_us", us_or_null(n.npu_us())},
                  {"move_us", n.move_us},
                  {"reasons", reasons}};
    if (const auto kind = on_cpu.find(i); kind != on_cpu.end()) entry["kept_by"] = kind->second;
    if (i < c.timing.layers.size()) {  // beside its own time
      entry["cache_us"] = c.timing.layers[i].time.of(Activity::cache) * 1e-3;
      entry["waiting_us"] = c.timing.layers[i].time.of(Activity::waiting) * 1e-3;
      add_use(entry, c, i, uses[i]);
    }
    if (const auto head = fused.find(i); head != fused.end())
      entry["fused_into"] = p.graph.nodes[head->second].origin.name;
    out["nodes"].push_back(std::move(entry));
  }
  return out;
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
  if (const std::optional<Mixed>& m = c.quantisation.mixed)
    out << "  codes   " << wrapped(print(*m), 10, 10) << "\n";
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
    show_roof(out, c);
    if (c.timing.energy_uj > 0) out << fmt::format("  energy  {:.1f} uJ\n", c.timing.energy_uj);
  } else {
    out << fmt::format("  memory  arena {}\n", shown_bytes(c.program.arena_bytes));
  }
  if (!file.empty()) out << "  bundle  " << file << "\n";
}

}  // namespace longshore
