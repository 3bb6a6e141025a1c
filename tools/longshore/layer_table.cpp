#include "layer_table.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <sstream>

#include <fmt/format.h>

#include "build_report.hpp"
#include "compile/fallbacks.hpp"
#include "measure/layer_use.hpp"
#include "say.hpp"

namespace longshore {
namespace {

constexpr std::size_t name_width = 22, op_width = 13;

/// What handing over to a node and from it takes, which is no part of its own time.
std::string beside(const TimeSplit& time) {
  const double waiting = time.of(Activity::waiting) * 1e-3, cache = time.of(Activity::cache) * 1e-3;
  std::string out;
  if (waiting > 0) out += fmt::format("+ {:.1f} us waiting", waiting);
  if (cache > 0) out += fmt::format("{}+ {:.1f} us cache", out.empty() ? "" : " ", cache);
  return out;
}

std::string shown_us(double ns) { return ns > 0 ? fmt::format("{:.1f}", ns * 1e-3) : "-"; }
std::string shown_kib(std::uint64_t bytes) {
  return bytes > 0 ? fmt::format("{:.1f}", static_cast<double>(bytes) / 1024) : "-";
}

/// Rows x columns x channels of a tile, by the layers' first nodes.
std::map<std::size_t, std::string> tiles_of(const plan::Plan& p) {
  std::map<std::size_t, std::string> out;
  for (const plan::Layer& l : p.layers)
    out.try_emplace(
        l.head(), fmt::format("{} x {} x {}", l.tiling.rows, l.tiling.columns, l.tiling.channels));
  return out;
}

/// Its reasons and prices, where the CPU runs it and the target has an NPU.
void add_reasons(std::vector<std::string>& notes, const compile::Compiled& c, std::size_t node) {
  const NodePlacement& n = c.plan.placement.nodes[node];
  if (n.on_npu() || !c.plan.placement.target.machine.present) return;
  for (const Reason& reason : compile::reasons_of(c, node)) notes.push_back(text_of(reason));
  if (n.npu_us() >= 0)
    notes.push_back(
        fmt::format("price: {:.1f} us on the CPU, {:.1f} us on the NPU, {:.1f} us to hand over",
                    n.cpu_us(), n.npu_us(), n.move_us));
  else if (unpriced(n))
    notes.emplace_back("price: none, its dims are known at run time only");
  else
    notes.push_back(fmt::format("price: {:.1f} us on the CPU", n.cpu_us()));
}

}  // namespace

Table layer_columns(const compile::Compiled& c, std::string heading) {
  Table t;
  t.columns = {{std::move(heading), name_width, false},
               {"op", op_width, false},
               {"unit", 4, false},
               {"bound by", 8, false},
               {"MAC%", 4},
               {"moved KiB", 9},
               {"us", 8},
               {"%", 5}};
  if (!c.npu()) t.columns.erase(t.columns.begin() + 3, t.columns.begin() + 6);
  t.columns.push_back({"MMAC"});
  if (!c.npu()) return t;
  for (const char* more : {"form", "tile"}) t.columns.push_back({more, 0, false});
  for (const char* more : {"mac us", "vector us", "dma in us", "dma out us", "dispatch us",
                           "weights KiB", "input KiB", "output KiB", "SRAM KiB"})
    t.columns.push_back({more});
  if (c.timing.energy_uj > 0) t.columns.push_back({"energy uJ"});
  return t;
}

void add_layers(Table& t, const compile::Compiled& c, std::span<const std::size_t> nodes,
                bool notes) {
  const Placement& p = c.plan.placement;
  const double total = std::max(latency_ms(c), 1e-9);
  const std::vector<LayerUse> uses = layer_uses(c.program, c.timing);
  const auto tiles = tiles_of(c.plan);
  const auto fused = fused_into(c.plan);
  std::map<std::size_t, int> parts;
  for (const auto& [node, head] : fused) parts[head]++;
  for (std::size_t i : nodes) {
    const NodePlacement& n = p.nodes[i];
    const Node& node = p.graph.nodes[i];
    const double us = node_ms(c, i) * 1e3;
    const LayerUse use = i < uses.size() ? uses[i] : LayerUse{};
    Table::Row row;
    const std::string more = !notes && parts[i] > 0 ? fmt::format(" +{}", parts[i]) : "";
    row.cells = {node.origin.name,
                 more.empty()
                     ? std::string(node.op->name)
                     : short_name(std::string(node.op->name), op_width - more.size()) + more,
                 std::string(n.unit())};
    if (c.npu()) {
      const double utilisation = mac_utilisation(c, i);
      row.cells.emplace_back(use.bound == BoundBy::nothing ? "" : name(use.bound));
      row.cells.push_back(utilisation > 0 ? fmt::format("{:.0f}", utilisation * 100) : "-");
      row.cells.push_back(shown_kib(use.moved_bytes()));
    }
    const bool known = !unpriced(n);
    row.cells.push_back(known ? fmt::format("{:.1f}", us) : "?");
    row.cells.push_back(known ? fmt::format("{:.1f}", us * 0.1 / total) : "?");
    row.cells.push_back(fmt::format("{:.2f}", static_cast<double>(n.macs) * 1e-6));
    if (c.npu()) {
      const auto tile = tiles.find(i);
      row.cells.emplace_back(n.form() ? n.form()->name : "");
      row.cells.push_back(tile == tiles.end() ? "" : tile->second);
      for (const Queue q : {Queue::mac, Queue::vector, Queue::dma_in, Queue::dma_out})
        row.cells.push_back(shown_us(use.busy_of(q)));
      row.cells.push_back(shown_us(use.dispatch_ns));
      for (std::uint64_t bytes :
           {use.weight_bytes, use.input_bytes, use.output_bytes, use.sram_bytes})
        row.cells.push_back(shown_kib(bytes));
      if (c.timing.energy_uj > 0) row.cells.push_back(fmt::format("{:.2f}", use.energy_uj));
    }
    if (const auto head = fused.find(i); head != fused.end())
      row.instead = "in " + p.graph.nodes[head->second].origin.name;
    else if (n.on_npu() && us == 0)
      row.instead = "other addresses, no work";
    if (notes && row.instead.empty()) {
      if (i < c.timing.layers.size())
        if (std::string b = beside(c.timing.layers[i].time); !b.empty())
          row.notes.push_back(std::move(b));
      add_reasons(row.notes, c, i);
    }
    t.rows.push_back(std::move(row));
  }
}

void add_handover(Table& t, const compile::Compiled& c) {
  if (!c.npu()) return;
  const double us = c.timing.handover_ns() * 1e-3;
  Table::Row row{.cells = std::vector<std::string>(t.columns.size())};
  row.cells[0] = "(cache, waiting, idle)";
  row.cells[1] = "hand-over";
  row.cells[6] = fmt::format("{:.1f}", us);
  row.cells[7] = fmt::format("{:.1f}", us * 0.1 / std::max(latency_ms(c), 1e-9));
  t.rows.push_back(std::move(row));
}

Table layer_table(const compile::Compiled& c) {
  std::vector<std::size_t> all(c.plan.placement.nodes.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  Table t = layer_columns(c, "node");
  add_layers(t, c, all, true);
  add_handover(t, c);
  return t;
}

void show_layers(std::ostream& out, const compile::Compiled& c) { out << layer_table(c).text(); }

std::string markdown_report(const compile::Compiled& c, const std::string& model) {
  std::ostringstream totals;
  show_totals(totals, c, "");
  return fmt::format("# {} on {}\n```text{}```\n\n{}", model, c.plan.placement.target.name,
                     totals.str(), layer_table(c).markdown());
}

}  // namespace longshore
