#include "build_summary.hpp"

#include <algorithm>
#include <cctype>
#include <ostream>

#include <fmt/format.h>

#include "build_report.hpp"
#include "say.hpp"

namespace longshore {
namespace {

constexpr std::size_t few_nodes = 12, dearest = 10, most_groups = 12;

/// The reasons without what tells one node from the next: names in quotes and numbers.
std::string kind_of(const std::vector<Reason>& reasons) {
  std::string out;
  for (const Reason& r : reasons) {
    bool quoted = false;
    for (char c : r.text) {
      if (c == '\'') quoted = !quoted;
      if (!quoted && !std::isdigit(static_cast<unsigned char>(c)) && c != '.') out += c;
    }
    out += '\n';
  }
  return out;
}

/// Nodes of one operator that stay on the CPU for reasons of one kind.
struct Fallback {
  std::string op, kind;
  std::vector<std::size_t> nodes;
  double us = 0;
};

std::vector<Fallback> fallbacks_of(const compile::Compiled& c) {
  const Placement& p = c.plan.placement;
  std::vector<Fallback> out;
  if (!p.target.machine.present) return out;
  for (std::size_t i = 0; i < p.nodes.size(); i++) {
    if (p.nodes[i].on_npu()) continue;
    const std::string op = qualified_name(*p.graph.nodes[i].op), kind = kind_of(reasons_of(c, i));
    auto at =
        std::ranges::find_if(out, [&](const Fallback& f) { return f.op == op && f.kind == kind; });
    if (at == out.end()) at = out.insert(out.end(), {.op = op, .kind = kind});
    at->nodes.push_back(i);
    at->us += node_ms(c, i) * 1e3;
  }
  std::ranges::stable_sort(out, std::greater{}, &Fallback::us);
  return out;
}

void show_dearest(std::ostream& out, const compile::Compiled& c, double total_ms) {
  const Placement& p = c.plan.placement;
  const auto fused = fused_into(c.plan);
  std::vector<std::size_t> order;
  std::vector<int> parts(p.nodes.size());
  for (std::size_t i = 0; i < p.nodes.size(); i++) {
    if (const auto head = fused.find(i); head != fused.end())
      parts[head->second]++;
    else if (!unpriced(p.nodes[i]))
      order.push_back(i);
  }
  std::ranges::stable_sort(order, std::greater{}, [&](std::size_t i) { return node_ms(c, i); });
  order.resize(std::min(order.size(), dearest));
  out << fmt::format("{:<32} {:<17} {:<4} {:>9} {:>8} {:>5}\n",
                     fmt::format("the {} dearest of {} nodes", order.size(), p.nodes.size()), "op",
                     "unit", "MMAC", "us", "%");
  for (std::size_t i : order) {
    const Node& node = p.graph.nodes[i];
    const std::string more = parts[i] > 0 ? fmt::format(" +{}", parts[i]) : "";
    const double ms = node_ms(c, i);
    out << fmt::format(
        "{:<32} {:<17} {:<4} {:>9.2f} {:>8.1f} {:>5.1f}\n", short_name(node.origin.name, 32),
        short_name(std::string(node.op->name), 17 - more.size()) + more, p.nodes[i].unit(),
        static_cast<double>(p.nodes[i].macs) * 1e-6, ms * 1e3, ms * 100 / total_ms);
  }
}

}  // namespace

void show_summary(std::ostream& out, const compile::Compiled& c) {
  const Placement& p = c.plan.placement;
  if (p.nodes.size() <= few_nodes) return show_layers(out, c);
  const double total_ms = std::max(latency_ms(c), 1e-9);
  show_dearest(out, c, total_ms);
  const std::vector<Fallback> fallbacks = fallbacks_of(c);
  if (!fallbacks.empty()) {
    std::size_t nodes = 0;
    double us = 0;
    for (const Fallback& f : fallbacks) nodes += f.nodes.size(), us += f.us;
    out << fmt::format("\n{:<32} {:<17} {:<4} {:>9} {:>8.1f} {:>5.1f}\n",
                       fmt::format("on the CPU: {} node{}", nodes, nodes == 1 ? "" : "s"), "", "",
                       "", us, us * 0.1 / total_ms);
  }
  for (std::size_t k = 0; k < fallbacks.size() && k < most_groups; k++) {
    const Fallback& f = fallbacks[k];
    const std::string first = p.graph.nodes[f.nodes.front()].origin.name;
    out << fmt::format("{:>4} {:<27} {:<32} ", f.nodes.size(), short_name(f.op, 27),
                       short_name(f.nodes.size() > 1 ? first + " ..." : first, 32));
    if (std::ranges::all_of(f.nodes, [&](std::size_t i) { return unpriced(p.nodes[i]); }))
      out << fmt::format("{:>8} {:>5}\n", "?", "?");
    else
      out << fmt::format("{:>8.1f} {:>5.1f}\n", f.us, f.us * 0.1 / total_ms);
    const std::vector<Reason> reasons = reasons_of(c, f.nodes.front());
    if (!reasons.empty()) out << "      " << wrapped(text_of(reasons.front()), 6, 8) << "\n";
    if (reasons.size() > 1)
      out << fmt::format("      and {} more reason{}\n", reasons.size() - 1,
                         reasons.size() == 2 ? "" : "s");
  }
  if (fallbacks.size() > most_groups)
    out << fmt::format("      and {} more kinds\n", fallbacks.size() - most_groups);
  if (!fallbacks.empty()) out << "\n";
  show_handover(out, c);
  out << "--layers lists every node with all its reasons and prices\n";
}

}  // namespace longshore
