#include "build_summary.hpp"

#include <algorithm>
#include <ostream>

#include <fmt/format.h>

#include "build_report.hpp"
#include "compile/fallbacks.hpp"
#include "layer_table.hpp"
#include "say.hpp"

namespace longshore {
namespace {

constexpr std::size_t few_nodes = 12, dearest = 10, most_groups = 12;

void show_dearest(std::ostream& out, const compile::Compiled& c) {
  const Placement& p = c.plan.placement;
  const auto fused = fused_into(c.plan);
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < p.nodes.size(); i++)
    if (!fused.contains(i) && !unpriced(p.nodes[i])) order.push_back(i);
  std::ranges::stable_sort(order, std::greater{}, [&](std::size_t i) { return node_ms(c, i); });
  order.resize(std::min(order.size(), dearest));
  Table t = layer_columns(c, fmt::format("{} dearest of {}", order.size(), p.nodes.size()));
  add_layers(t, c, order, false);
  add_handover(t, c);
  out << t.text();
}

/// Nodes of one kind of fallback together, the dearest kinds first.
void show_groups(std::ostream& out, const compile::Compiled& c, std::string_view heading,
                 std::vector<compile::Fallback> list, double total_ms) {
  if (list.empty()) return;
  const Placement& p = c.plan.placement;
  double us = 0;
  for (const compile::Fallback& f : list) us += node_ms(c, f.node) * 1e3;
  out << fmt::format(
      "\n{:<32} {:<17} {:<4} {:>9} {:>8.1f} {:>5.1f}\n",
      fmt::format("{}: {} node{}", heading, list.size(), list.size() == 1 ? "" : "s"), "", "", "",
      us, us * 0.1 / total_ms);
  const std::vector<std::vector<compile::Fallback>> groups = alike(c, std::move(list));
  for (std::size_t k = 0; k < groups.size() && k < most_groups; k++) {
    const std::vector<compile::Fallback>& group = groups[k];
    const Node& node = p.graph.nodes[group.front().node];
    double sum = 0;
    for (const compile::Fallback& f : group) sum += node_ms(c, f.node) * 1e3;
    out << fmt::format(
        "{:>4} {:<27} {:<32} ", group.size(), short_name(qualified_name(*node.op), 27),
        short_name(group.size() > 1 ? node.origin.name + " ..." : node.origin.name, 32));
    if (std::ranges::all_of(group,
                            [&](const compile::Fallback& f) { return unpriced(p.nodes[f.node]); }))
      out << fmt::format("{:>8} {:>5}\n", "?", "?");
    else
      out << fmt::format("{:>8.1f} {:>5.1f}\n", sum, sum * 0.1 / total_ms);
    // Many borders lie between other nodes, which say why they are where they are.
    if (group.size() > 1 && group.front().kind == compile::Fallback::Kind::border) continue;
    const std::vector<Reason>& reasons = group.front().reasons;
    if (!reasons.empty()) out << "      " << wrapped(text_of(reasons.front()), 6, 8) << "\n";
    if (reasons.size() > 1)
      out << fmt::format("      and {} more reason{}\n", reasons.size() - 1,
                         reasons.size() == 2 ? "" : "s");
  }
  if (groups.size() > most_groups)
    out << fmt::format("      and {} more kinds\n", groups.size() - most_groups);
}

}  // namespace

void show_summary(std::ostream& out, const compile::Compiled& c) {
  const Placement& p = c.plan.placement;
  if (p.nodes.size() <= few_nodes) return show_layers(out, c);
  const double total_ms = std::max(latency_ms(c), 1e-9);
  show_dearest(out, c);
  std::vector<compile::Fallback> real, border;
  for (compile::Fallback& f : compile::fallbacks(c))
    (f.kind == compile::Fallback::Kind::border ? border : real).push_back(std::move(f));
  show_groups(out, c, "on the CPU", std::move(real), total_ms);
  // Floats and codes meet there whatever the NPU can do: no fallback.
  show_groups(out, c, "floats and codes", std::move(border), total_ms);
  out << "\n--layers lists every node with all its reasons and prices\n";
}

}  // namespace longshore
