#include "place/place.hpp"

#include <algorithm>
#include <deque>

#include <fmt/format.h>

#include "program/instructions/eltwise.hpp"
#include "program/instructions/pool.hpp"
#include "program/instructions/reduce.hpp"
#include "program/instructions/requantise.hpp"
#include "program/instructions/resize.hpp"
#include "program/instructions/table.hpp"
#include "base/error.hpp"
#include "place/price.hpp"
#include "sim/costs.hpp"

namespace longshore {
namespace {

/// Below this part of all multiply-accumulates, price alone decides over a cluster with MACs.
constexpr double small_share = 0.01;

std::string shown_us(double us) {
  return us < 10 ? fmt::format("{:.2f} us", us) : fmt::format("{:.0f} us", us);
}

void check_activation(const Node& n, const Rule& rule, std::vector<Reason>& out) {
  const std::string_view activation = n.attributes.text("activation");
  if (activation.empty() || rule.any_activation) return;
  if (std::ranges::find(rule.activations, activation) != rule.activations.end()) return;
  out.push_back({str("the target cannot fuse the activation ", activation), rule.activations_where,
                 str("keep ", activation, " as a node of its own")});
}

void check_dtypes(const Graph& g, const Node& n, const Rule& rule, std::vector<Reason>& out) {
  if (rule.dtypes.empty()) return;
  std::string allowed;
  for (const std::string& d : rule.dtypes) allowed += (allowed.empty() ? "" : ", ") + d;
  const auto check_one = [&](ValueId v, std::string_view what) {
    if (v == no_value) return true;
    const std::string dtype(name(g[v].type.dtype));
    if (std::ranges::find(rule.dtypes, dtype) != rule.dtypes.end()) return true;
    out.push_back({str(what, " '", g[v].name, "' is ", dtype, "; the target takes ", allowed),
                   rule.dtypes_where, str("quantise it to ", rule.dtypes.front())});
    return false;
  };
  if (check_one(n.input(0), "input")) check_one(n.output(), "output");
}

void check_limits(const Facts& facts, const Rule& rule, std::vector<Reason>& out) {
  for (const FactLimit& limit : rule.limits) {
    const auto at = facts.find(limit.fact);
    if (at == facts.end() || (at->second >= limit.lowest && at->second <= limit.highest)) continue;
    const bool low = at->second < limit.lowest;
    out.push_back(
        {str(limit.fact, " is ", at->second, "; the target allows ", limit.lowest, " to ",
             limit.highest),
         limit.where,
         str(low ? "raise " : "lower ", limit.fact, " to ", low ? limit.lowest : limit.highest)});
  }
}

/// Vector functions that the unit may lack.
void check_functions(const Node& n, Form form, const Target& t, std::vector<Reason>& out) {
  const auto need = [&](const VectorFunction& f) {
    if (t.machine.cycles_of(f) > 0) return;
    const std::string key = str("vector.", name(f), "_cycles");
    out.push_back({str("the vector unit of ", t.name, " has no ", name(f)),
                   str(t.file, ": npu.", key), "replace the operator"});
  };
  const std::string op = qualified_name(*n.op);
  if (form == Form::table) need(vector_unit::table);
  if (form == Form::eltwise) need(op == "Mul" ? vector_unit::multiply : vector_unit::add);
  if (form == Form::pool)
    need(op == "AveragePool" ? vector_unit::average_pool : vector_unit::max_pool);
  if (form == Form::reduce) need(vector_unit::reduce);
  if (form == Form::resize) need(vector_unit::resize);
  if (form == Form::quantise) need(vector_unit::requantise);
}

NodePlacement assess(const Graph& g, const Node& n, const Target& t) {
  NodePlacement p;
  p.macs = node_macs(g, n);
  p.cpu_us = cpu_price_us(g, n, t.cpu);
  p.form = npu_form(g, n);
  if (!t.machine.present) {
    p.reasons.push_back({str("the target ", t.name, " has no NPU"), {}, "choose another --target"});
    return p;
  }
  if (p.form == Form::depthwise && t.machine.depthwise_lanes == 0) p.form = Form::mac;
  std::vector<Reason>& out = p.reasons;
  const bool quantised = n.input(0) != no_value && n.output() != no_value &&
                         (g[n.input(0)].type.quantised() || g[n.output()].type.quantised());
  if (!quantised) {
    out.push_back({"not quantised", {}, "quantise it: --calibrate"});
    if (p.form == Form::none || p.form == Form::view) return p;
  }
  const auto form_rule = t.forms.find(p.form);
  if (form_rule == t.forms.end()) {
    if (p.form != Form::none)
      out.push_back({str(t.name, " has nothing for operators of the form ", name(p.form)),
                     str(t.file, ": no [forms.", name(p.form), "]"), "replace the operator"});
  }
  const Facts facts = node_facts(g, n);
  const auto apply = [&](const Rule& rule) {
    if (!rule.supported)
      out.push_back(
          {"the target does not support it", rule.supported_where, "replace the operator"});
    if (quantised && p.form != Form::view && p.form != Form::quantise)
      check_dtypes(g, n, rule, out);
    check_limits(facts, rule, out);
    check_activation(n, rule, out);
  };
  if (form_rule != t.forms.end()) apply(form_rule->second);
  if (const auto rule = t.ops.find(qualified_name(*n.op)); rule != t.ops.end()) apply(rule->second);
  check_functions(n, p.form, t, out);
  if (quantised)
    for (Reason& r : lowering_limits(g, n, p.form)) out.push_back(std::move(r));
  if (out.empty()) {
    p.unit = Unit::npu;
    p.npu_us = npu_price_us(g, n, p.form, t.machine);
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
  explicit Pricer(Placement& p) : p_(p), g_(p.graph), links_(p.graph) {}

  void run() {
    bool changed = true;
    for (int round = 0; changed && round < 8; round++) {
      const bool joined = clusters(), peeled = peel();  // both, whatever the first finds
      changed = joined || peeled;
    }
    for (std::size_t i = 0; i < g_.nodes.size(); i++)
      if (p_.nodes[i].npu_us >= 0) p_.nodes[i].move_us = moves_if(i, Unit::npu);
  }

 private:
  bool on_npu(std::size_t i) const { return p_.nodes[i].unit == Unit::npu; }

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

  double moves_if(std::size_t i, Unit unit) {
    const Unit was = p_.nodes[i].unit;
    p_.nodes[i].unit = unit;
    double us = 0;
    for (ValueId v : g_.nodes[i].inputs) us += crossing(v);
    for (ValueId v : g_.nodes[i].outputs) us += crossing(v);
    p_.nodes[i].unit = was;
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
      npu += p_.nodes[i].npu_us;
      cpu += p_.nodes[i].cpu_us;
      macs += static_cast<double>(p_.nodes[i].macs);
      for (ValueId v : g_.nodes[i].inputs) touched.push_back(v);
      for (ValueId v : g_.nodes[i].outputs) touched.push_back(v);
    }
    if (total_macs > 0 && macs > small_share * total_macs) return false;
    std::ranges::sort(touched);
    touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
    double here = 0, there = 0;
    for (ValueId v : touched) here += crossing(v);
    for (std::size_t i : members) p_.nodes[i].unit = Unit::cpu;
    for (ValueId v : touched) there += crossing(v);
    if (cpu + there < npu + here) {
      for (std::size_t i : members) refuse(i, npu, here - there, cpu, members.size());
      return true;
    }
    for (std::size_t i : members) p_.nodes[i].unit = Unit::npu;
    return false;
  }

  /// Single nodes without MACs at the border.
  bool peel() {
    bool changed = false;
    for (std::size_t i = 0; i < g_.nodes.size(); i++) {
      if (!on_npu(i) || p_.nodes[i].macs > 0 || p_.nodes[i].form == Form::view) continue;
      const double here = moves_if(i, Unit::npu), there = moves_if(i, Unit::cpu);
      if (p_.nodes[i].cpu_us + there >= p_.nodes[i].npu_us + here) continue;
      p_.nodes[i].unit = Unit::cpu;
      refuse(i, p_.nodes[i].npu_us, here - there, p_.nodes[i].cpu_us, 1);
      changed = true;
    }
    return changed;
  }

  void refuse(std::size_t i, double npu, double moves, double cpu, std::size_t count) {
    p_.nodes[i].unit = Unit::cpu;
    p_.nodes[i].reasons.push_back(
        {str("faster on the CPU",
             count > 1 ? str(" together with ", count - 1, " neighbours") : std::string(), ": ",
             shown_us(cpu), " there, ", shown_us(npu), " on the NPU and ", shown_us(moves),
             " for handing over"),
         {},
         "let its neighbours run on the NPU"});
  }

  Placement& p_;
  const Graph& g_;
  Links links_;
};

}  // namespace

std::int64_t Placement::macs() const {
  std::int64_t sum = 0;
  for (const NodePlacement& n : nodes) sum += n.macs;
  return sum;
}

double Placement::npu_mac_share() const {
  std::int64_t npu = 0;
  for (const NodePlacement& n : nodes) npu += n.unit == Unit::npu ? n.macs : 0;
  const std::int64_t all = macs();
  return all > 0 ? static_cast<double>(npu) / static_cast<double>(all) : 0;
}

void move_to_cpu(Placement& p, std::size_t node, Reason reason) {
  p.nodes[node].unit = Unit::cpu;
  p.nodes[node].reasons.push_back(std::move(reason));
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
  for (const Node& n : g.nodes) p.nodes.push_back(assess(g, n, t));
  if (t.machine.present && options.by_price) Pricer(p).run();
  return p;
}

}  // namespace longshore
