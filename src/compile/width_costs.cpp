#include "compile/width_costs.hpp"

#include <map>
#include <set>
#include <utility>

#include "ir/recode.hpp"
#include "lower/lower.hpp"

namespace longshore::compile {
namespace {

/// Nodes that run as one, by what they make, and the time that they take together.
struct Group {
  std::vector<std::string> outputs;
  double us = 0;
};

std::vector<Group> groups(const plan::Plan& p) {
  const Graph& g = p.placement.graph;
  const Timing timing = lower::predicted(p);
  std::vector<Group> out;
  std::set<std::size_t> grouped;
  const auto add = [&](Group& to, std::size_t node) {
    if (!grouped.insert(node).second) return;
    for (ValueId v : g.nodes[node].outputs)
      if (v != no_value) to.outputs.push_back(g[v].name);
    to.us += timing.layers[node].time.own_ns() * 1e-3;
  };
  for (const plan::Layer& l : p.layers) {
    Group& group = out.emplace_back();
    for (const plan::Stage& s : l.stages) add(group, s.node);
  }
  for (std::size_t i = 0; i < g.nodes.size(); i++) add(out.emplace_back(), i);
  std::erase_if(out, [](const Group& group) { return group.outputs.empty(); });
  return out;
}

/// Layers of the narrow plan; a layer of the wide one that covers several of them is shared out as
/// they take their time in the narrow one.
std::vector<LayerWidths> layers(const plan::Plan& narrow, const plan::Plan& wide) {
  std::vector<LayerWidths> out;
  std::map<std::string, std::size_t> at;
  for (Group& g : groups(narrow)) {
    for (const std::string& name : g.outputs) at[name] = out.size();
    out.push_back({std::move(g.outputs), g.us, 0});
  }
  for (const Group& g : groups(wide)) {
    std::set<std::size_t> covered;
    for (const std::string& name : g.outputs)
      if (const auto it = at.find(name); it != at.end()) covered.insert(it->second);
    double sum = 0;
    for (std::size_t i : covered) sum += out[i].narrow_us;
    for (std::size_t i : covered)
      out[i].wide_us +=
          g.us * (sum > 0 ? out[i].narrow_us / sum : 1 / static_cast<double>(covered.size()));
  }
  return out;
}

/// The price of a conversion alone, on the NPU where that can do it.
double convert_us(const TensorType& from, const TensorType& to, const Target& target) {
  Graph g;
  Node n;
  n.op = &ops::op_longshore_requantize::definition;
  n.inputs = {g.add_input("from", from)};
  n.outputs = {g.add_value("to", to)};
  n.origin.name = "to";
  g.outputs = n.outputs;
  g.add_node(std::move(n), 0);
  const NodePlacement placed = place(g, target, {.by_price = false}).nodes[0];
  return std::max(placed.option().us, 0.0);
}

}  // namespace

WidthCosts width_costs(const std::function<plan::Plan(const Graph&)>& plan) {
  WidthCosts out;
  out.us = [plan](const Graph& g) { return lower::predicted_ns(plan(g)) * 1e-3; };
  out.prices = [plan](const Graph& narrow, const Graph& wide) {
    const plan::Plan a = plan(narrow);
    WidthPrices prices;
    prices.layers = layers(a, plan(wide));
    std::map<std::string, const TensorType*> types;
    for (const Value& v : wide.values) types[v.name] = &v.type;
    for (const Value& v : narrow.values) {
      const auto other = types.find(v.name);
      if (v.type.quantised() && !v.constant.present() && other != types.end() &&
          other->second->quantised() && other->second->dtype != v.type.dtype)
        prices.convert_us[v.name] = convert_us(v.type, *other->second, a.placement.target);
    }
    return prices;
  };
  return out;
}

}  // namespace longshore::compile
