#include "place/place.hpp"

#include <algorithm>
#include <deque>

#include <fmt/format.h>

#include "base/error.hpp"
#include "place/order.hpp"
#include "place/price.hpp"

namespace longshore {
namespace {

using forms::FormNode;

/// Below this part of all multiply-accumulates, price alone decides over a cluster with MACs.
constexpr double small_share = 0.01;

std::string shown_us(double us) {
  return us < 10 ? fmt::format("{:.2f} us", us) : fmt::format("{:.0f} us", us);
}

/// Activations, element types and facts that a rule of the target file limits.
void check_rule(const Rule& rule, const FormNode& n, bool dtypes, Reasons& out) {
  if (!rule.supported)
    out.add({"the target does not support it", rule.supported_where,
             str("set supported = true, if the chip does")});
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
    out.add({str("the target cannot fuse the activation ", activation), rule.activations_where,
             str("keep ", activation, " as a node of its own")});
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
                   : str("quantise '", n.graph[v].name, "' (--calibrate)")});
      continue;
    }
    out.add({str("its input '", n.graph[v].name, "' is ", print(n.type(v)), ", not quantised",
                 maker ? str(": ", describe(*maker), " makes it") : std::string()),
             {},
             maker && maker->op->quant == Quant::none
                 ? integer_form_wanted(*maker->op)
                 : str("quantise '", n.graph[v].name, "' (--calibrate)")});
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
    reasons.lacks(unit, str("nothing for operators of the form ", form.name),
                  str("[forms.", form.name, "]"));
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
  p.options.push_back({.unit = "cpu", .us = cpu_price_us(g, n, t.cpu)});
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
                 str("write a form for ", op, " (docs/extending.md)")});
    p.general = reasons.take();
  }
  for (std::size_t i = 1; i < p.options.size(); i++) {
    const PlacementOption& o = p.options[i];
    if (!o.reasons.empty()) continue;
    if (p.chosen == 0 || o.us < p.option().us) p.chosen = i;
  }
  return p;
}

/// Which nodes touch each value.
struct Links {
  explicit Links(const Graph& g) : users(g.values.size()), is_output(g.values.size()) {
    for (std::size_t i = 0; i < g.nodes.size(); i++) {
      for (ValueId v : g.nodes[i].inputs)
        if (v != no_value) users[index(v)].push_back(i);
      for (const Subgraph& s : g.nodes[i].subgraphs)
        for (ValueId v : s.captures) users[index(v)].push_back(i);
    }
    for (ValueId v : g.outputs) is_output[index(v)] = true;
  }
  std::vector<std::vector<std::size_t>> users;
  std::vector<bool> is_output;
};

class Pricer {
 public:
  explicit Pricer(Placement& p) : p_(p), g_(p.graph), links_(p.graph) {
    for (const NodePlacement& n : p.nodes) best_.push_back(n.chosen);
  }

  void run() {
    bool changed = true;
    for (int round = 0; changed && round < 8; round++) {
      const bool joined = clusters(), peeled = peel();  // both, whatever the first finds
      changed = joined || peeled;
    }
    for (std::size_t i = 0; i < g_.nodes.size(); i++)
      if (p_.nodes[i].npu_us() >= 0) p_.nodes[i].move_us = moves_if(i, best_[i]);
  }

 private:
  bool on_npu(std::size_t i) const { return p_.nodes[i].on_npu(); }

  /// Cost of carrying value v between the units as they stand now.
  double crossing(ValueId v) const {
    if (v == no_value || g_.constant(v)) return 0;
    const int def = g_[v].def;
    const bool from_npu = def >= 0 && on_npu(static_cast<std::size_t>(def));
    bool to_npu = false, to_cpu = links_.is_output[index(v)];
    for (std::size_t user : links_.users[index(v)]) (on_npu(user) ? to_npu : to_cpu) = true;
    if (from_npu && to_cpu) return move_price_us(g_, v, p_.target.machine, true);
    if (!from_npu && to_npu) return move_price_us(g_, v, p_.target.machine, false);
    return 0;
  }

  double moves_if(std::size_t i, std::size_t option) {
    const std::size_t was = p_.nodes[i].chosen;
    p_.nodes[i].chosen = option;
    double us = 0;
    for (ValueId v : g_.nodes[i].inputs) us += crossing(v);
    for (ValueId v : g_.nodes[i].outputs) us += crossing(v);
    p_.nodes[i].chosen = was;
    return us;
  }

  /// Whole connected groups of NPU nodes that are dearer than the CPU.
  bool clusters() {
    bool changed = false;
    std::vector<bool> seen(g_.nodes.size());
    const double total = static_cast<double>(p_.macs());
    for (std::size_t start = 0; start < g_.nodes.size(); start++) {
      if (!on_npu(start) || seen[start]) continue;
      std::vector<std::size_t> members;
      std::deque<std::size_t> queue = {start};
      seen[start] = true;
      const auto visit = [&](std::size_t i) {
        if (!on_npu(i) || seen[i]) return;
        seen[i] = true;
        queue.push_back(i);
      };
      while (!queue.empty()) {
        const std::size_t i = queue.front();
        queue.pop_front();
        members.push_back(i);
        for (ValueId v : g_.nodes[i].inputs)
          if (v != no_value && g_[v].def >= 0) visit(static_cast<std::size_t>(g_[v].def));
        for (ValueId v : g_.nodes[i].outputs)
          if (v != no_value)
            for (std::size_t user : links_.users[index(v)]) visit(user);
      }
      changed |= decide(members, total);
    }
    return changed;
  }

  bool decide(const std::vector<std::size_t>& members, double total_macs) {
    double npu = 0, cpu = 0, macs = 0;
    std::vector<ValueId> touched;
    for (std::size_t i : members) {
      npu += p_.nodes[i].option().us;
      cpu += p_.nodes[i].cpu_us();
      macs += static_cast<double>(p_.nodes[i].macs);
      for (ValueId v : g_.nodes[i].inputs) touched.push_back(v);
      for (ValueId v : g_.nodes[i].outputs) touched.push_back(v);
    }
    if (total_macs > 0 && macs > small_share * total_macs) return false;
    std::ranges::sort(touched);
    touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
    double here = 0, there = 0;
    for (ValueId v : touched) here += crossing(v);
    for (std::size_t i : members) p_.nodes[i].chosen = 0;
    for (ValueId v : touched) there += crossing(v);
    if (cpu + there < npu + here) {
      for (std::size_t i : members) refuse(i, npu, here - there, cpu, members.size());
      return true;
    }
    for (std::size_t i : members) p_.nodes[i].chosen = best_[i];
    return false;
  }

  /// Single nodes without MACs at the border.
  bool peel() {
    bool changed = false;
    for (std::size_t i = 0; i < g_.nodes.size(); i++) {
      if (!on_npu(i) || p_.nodes[i].macs > 0 || !p_.nodes[i].form()->cycles) continue;
      const double here = moves_if(i, best_[i]), there = moves_if(i, 0);
      const double npu = p_.nodes[i].option().us;
      if (p_.nodes[i].cpu_us() + there >= npu + here) continue;
      refuse(i, npu, here - there, p_.nodes[i].cpu_us(), 1);
      changed = true;
    }
    return changed;
  }

  /// What keeps it is the hand-over: by how much it is too dear, and the neighbours that would save
  /// it by coming along.
  void refuse(std::size_t i, double npu, double moves, double cpu, std::size_t count) {
    NodePlacement& p = p_.nodes[i];
    const std::string neighbours = kept_on_cpu(i);
    p.chosen = 0;
    p.options[best_[i]].reasons.push_back(
        {str("faster on the CPU",
             count > 1 ? str(" together with ", count - 1, " neighbours") : std::string(), ": ",
             shown_us(cpu), " there, ", shown_us(npu), " on the NPU and ", shown_us(moves),
             " for handing over"),
         {},
         str("save ", shown_us(npu + moves - cpu), " of handing over",
             neighbours.empty() ? std::string() : str(": bring ", neighbours, " to the NPU"))});
  }

  /// Where codes become floats or floats codes: no NPU takes that.
  bool is_border(const Node& n) const {
    const auto codes = [&](const std::vector<ValueId>& list) {
      return std::ranges::any_of(
          list, [&](ValueId v) { return v != no_value && g_[v].type.quantised(); });
    };
    return codes(n.inputs) != codes(n.outputs);
  }

  /// Neighbours that the NPU cannot run, for advice: at most two.
  std::string kept_on_cpu(std::size_t i) const {
    std::vector<std::size_t> found;
    const auto look = [&](std::size_t k) {
      if (!on_npu(k) && best_[k] == 0 && found.size() < 2 && !is_border(g_.nodes[k]) &&
          std::ranges::find(found, k) == found.end())
        found.push_back(k);
    };
    for (ValueId v : g_.nodes[i].inputs)
      if (v != no_value && g_[v].def >= 0) look(static_cast<std::size_t>(g_[v].def));
    for (ValueId v : g_.nodes[i].outputs)
      if (v != no_value)
        for (std::size_t user : links_.users[index(v)]) look(user);
    std::string out;
    for (std::size_t k : found) out += (out.empty() ? "" : " and ") + describe(g_.nodes[k]);
    return out;
  }

  Placement& p_;
  const Graph& g_;
  Links links_;
  std::vector<std::size_t> best_;  // the NPU's cheapest option of each node; 0: none
};

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
  decide_orders(p.graph, specs);
  for (std::size_t i = 0; i < g.nodes.size(); i++)
    p.nodes.push_back(assess(p.graph, p.graph.nodes[i], std::move(specs[i]), t));
  if (t.machine.present && options.by_price) Pricer(p).run();
  return p;
}

}  // namespace longshore
