#include "place/place.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "place/order.hpp"
#include "place/price.hpp"
#include "place/units.hpp"

namespace longshore {
namespace {

using forms::FormNode;

/// Activations, element types and facts that a rule of the target file limits.
void check_rule(const Rule& rule, const FormNode& n, bool dtypes, Reasons& out) {
  if (!rule.supported)
    out.add({"the target does not support it",
             rule.supported_where,
             str("set supported = true, if the chip does"),
             {Wanted::Kind::target, "supported", "false", "true"}});
  if (dtypes && !rule.dtypes.empty()) {
    std::string allowed;
    for (const std::string& d : rule.dtypes) allowed += (allowed.empty() ? "" : " or ") + d;
    for (ValueId v : {n.data(), n.result()}) {
      if (v == no_value || !n.type(v).quantised()) continue;  // floats are no codes of any type
      const std::string dtype(name(n.type(v).dtype));
      if (std::ranges::find(rule.dtypes, dtype) == rule.dtypes.end())
        out.value(str("the element type of '", n.graph[v].name, "'"), dtype, allowed,
                  rule.dtypes_where);
    }
  }
  const Facts facts = node_facts(n.graph, n.node);
  for (const FactLimit& limit : rule.limits) {
    const auto at = facts.find(limit.fact);
    if (at != facts.end() && (at->second < limit.lowest || at->second > limit.highest))
      out.range(limit.fact, at->second, limit.lowest, limit.highest, "the target allows",
                limit.where);
  }
  const std::string_view activation = n.node.attributes.text("activation");
  if (!activation.empty() && !rule.any_activation &&
      std::ranges::find(rule.activations, activation) == rule.activations.end())
    out.add({str("the target cannot fuse the activation ", activation),
             rule.activations_where,
             str("keep ", activation, " as a node of its own"),
             {Wanted::Kind::property, "activation", std::string(activation), {}}});
}

/// A value that a form would work on is float. Says whose output it is, so that the first float
/// node of a chain can be found.
void check_quantised(const FormNode& n, Reasons& out) {
  for (ValueId v : {n.data(), n.result()}) {
    if (v == no_value || n.type(v).quantised()) continue;
    const Node* maker = v == n.data() ? n.graph.def(v) : &n.node;
    const bool input = v == n.data();
    if (!input) {
      out.add({str("its output '", n.graph[v].name, "' is ", print(n.type(v)), ", not quantised"),
               {},
               n.node.op->quant == Quant::none
                   ? integer_form_wanted(*n.node.op)
                   : str("quantise '", n.graph[v].name, "' (--calibrate)"),
               {Wanted::Kind::codes, n.graph[v].name, {}, {}}});
      continue;
    }
    out.add({str("its input '", n.graph[v].name, "' is ", print(n.type(v)), ", not quantised",
                 maker ? str(": ", describe(*maker), " makes it") : std::string()),
             {},
             maker && maker->op->quant == Quant::none
                 ? integer_form_wanted(*maker->op)
                 : str("quantise '", n.graph[v].name, "' (--calibrate)"),
             {Wanted::Kind::codes, n.graph[v].name, {}, {}}});
  }
}

/// Other forms have more to do with these values and walk them in the other order.
void check_order(const forms::FormDef& form, const FormNode& n, Reasons& out) {
  const std::optional<AxisOrder> order = form.order ? form.order(n) : std::nullopt;
  if (!order) return;
  const auto shown = [](AxisOrder o) {
    return o == AxisOrder::channels_first ? "channels first" : "channels last";
  };
  for (ValueId v : {n.data(), n.result()})
    if (n.type(v).rank() > 2 && n.graph[v].order != *order)
      return out.add({str("its neighbours walk '", n.graph[v].name, "' ", shown(n.graph[v].order),
                          ", it ", shown(*order)),
                      {},
                      str("put Transposes between it and its neighbours")});
}

PlacementOption try_form(const forms::FormDef& form, const FormNode& n, const Target& t) {
  PlacementOption o{.unit = "npu", .form = &form};
  const Unit unit{t.name, t.file, t.machine};
  Reasons reasons;
  const bool quantised = n.data() != no_value && n.result() != no_value &&
                         (n.type(n.data()).quantised() || n.type(n.result()).quantised());
  // Element types are looked at where there is data to move.
  const bool computes = form.cycles != nullptr;
  if (const auto rule = t.forms.find(form.name); rule != t.forms.end())
    check_rule(rule->second, n, quantised && computes, reasons);
  else
    reasons.lacks(unit, str("form '", form.name, "'"), str("[forms.", form.name, "]"));
  if (const auto rule = t.ops.find(qualified_name(*n.node.op)); rule != t.ops.end())
    check_rule(rule->second, n, quantised && computes, reasons);
  if (quantised) {
    forms::check_node(form, n, unit, reasons);
    check_order(form, n, reasons);
  } else {
    check_quantised(n, reasons);
  }
  o.reasons = reasons.take();
  if (o.reasons.empty()) o.us = npu_price_us(form, n, t.machine);
  return o;
}

NodePlacement assess(const Graph& g, const Node& n, FormSpec spec, const Target& t) {
  NodePlacement p;
  p.spec = std::move(spec);
  p.macs = node_macs(g, n);
  p.options.push_back(
      {.unit = "cpu", .us = cpu_price_us(g, n, t.cpu, t.machine.constants_gb_per_s)});
  if (!t.machine.present) {
    p.general.push_back({str("the target ", t.name, " has no NPU"), {}, "--target NAME of an NPU"});
    return p;
  }
  const FormNode node = form_node(g, n, p.spec);
  for (const forms::FormDef* form : forms::forms_of(node))
    p.options.push_back(try_form(*form, node, t));
  if (p.options.size() == 1) {
    Reasons reasons;
    const bool quantised = node.data() != no_value && node.result() != no_value &&
                           g[node.data()].type.quantised() && g[node.result()].type.quantised();
    if (!quantised) check_quantised(node, reasons);
    const std::string op = qualified_name(*n.op);
    reasons.add({str("no form of an NPU does ", op, " yet"),
                 {},
                 str("write a form for ", op, " (docs/extending.md)"),
                 {Wanted::Kind::form, op, {}, {}}});
    p.general = reasons.take();
  }
  for (std::size_t i = 1; i < p.options.size(); i++) {
    const PlacementOption& o = p.options[i];
    if (!o.reasons.empty()) continue;
    if (p.chosen == 0 || o.us < p.option().us) p.chosen = i;
  }
  return p;
}

}  // namespace

std::int64_t Placement::macs() const {
  std::int64_t sum = 0;
  for (const NodePlacement& n : nodes) sum += n.macs;
  return sum;
}

double Placement::npu_mac_share() const {
  std::int64_t npu = 0;
  for (const NodePlacement& n : nodes) npu += n.on_npu() ? n.macs : 0;
  const std::int64_t all = macs();
  return all > 0 ? static_cast<double>(npu) / static_cast<double>(all) : 0;
}

const PlacementOption* NodePlacement::npu() const {
  const PlacementOption* best = nullptr;
  for (const PlacementOption& o : options)
    if (o.form && (!best || (o.us >= 0 && (best->us < 0 || o.us < best->us)))) best = &o;
  return best;
}

std::vector<Reason> NodePlacement::reasons() const {
  if (on_npu()) return {};
  if (const PlacementOption* o = npu()) return o->reasons;
  return general;
}

void move_to_cpu(Placement& p, std::size_t node, Reason reason) {
  NodePlacement& n = p.nodes[node];
  n.options[n.chosen].reasons.push_back(std::move(reason));
  n.chosen = 0;
}

forms::FormNode form_node(const Graph& g, const Node& n, const FormSpec& spec) {
  forms::FormNode out{g, n, spec};
  const ValueId data = out.data(), result = out.result();
  if (result == no_value || data == no_value) return out;
  if (const auto e = forms::extent_of(g[result])) out.out = *e;
  if (const auto e = forms::extent_of(g[data])) out.in = *e;
  return out;
}

Placement place(const Graph& g, const Target& t, const PlaceOptions& options) {
  Placement p{g, t, {}};
  if (t.machine.present && !t.machine.rounds(static_cast<int>(g.numbers))) {
    const bool any =
        std::ranges::any_of(g.values, [](const Value& v) { return v.type.quantised(); });
    if (any)
      fail(Code::unsupported, "the graph rounds in the mode ", name(g.numbers), ", which ", t.name,
           " lacks (", t.rounding_where, "); quantise it in one of the target's modes");
  }
  std::vector<FormSpec> specs;
  for (const Node& n : g.nodes)
    specs.push_back(n.op->form && t.machine.present ? n.op->form({n, g}) : FormSpec{});
  if (options.choose_order) decide_orders(p.graph, specs);
  for (std::size_t i = 0; i < g.nodes.size(); i++)
    p.nodes.push_back(assess(p.graph, p.graph.nodes[i], std::move(specs[i]), t));
  if (t.machine.present) choose_units(p, options);
  return p;
}

}  // namespace longshore
