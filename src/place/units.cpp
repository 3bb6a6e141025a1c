#include "place/units.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/cut.hpp"
#include "place/price.hpp"

namespace longshore {
namespace {

/// A group of neighbours with more than this part of all multiply-accumulates is the model's body.
constexpr double small_share = 0.01;
/// Multiply-accumulates of the body go to the CPU for a gain of more than this factor: a model is
/// not cut in pieces for less than a roofline can promise.
constexpr double body_factor = 2;

std::string shown_us(double us) {
  return us < 10 ? fmt::format("{:.2f} us", us) : fmt::format("{:.0f} us", us);
}

/// Prices in the cut are picoseconds.
std::int64_t price(double us) { return std::llround(std::max(us, 0.0) * 1e6); }

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

class Chooser {
 public:
  Chooser(Placement& p, const PlaceOptions& options)
      : p_(p), g_(p.graph), options_(options), links_(p.graph) {
    for (const NodePlacement& n : p.nodes) best_.push_back(n.chosen);
  }

  void run() {
    check_forced();
    const std::vector<bool> stays = options_.by_price ? cheapest() : wanted();
    for (std::size_t i = 0; i < g_.nodes.size(); i++)
      if (!stays[i]) p_.nodes[i].chosen = 0;
    explain();
    if (!options_.by_price) return;
    for (std::size_t i = 0; i < g_.nodes.size(); i++)
      if (p_.nodes[i].npu_us() >= 0) p_.nodes[i].move_us = moves_if(i, best_[i]);
  }

 private:
  bool can(std::size_t i) const { return best_[i] > 0; }
  bool on_npu(std::size_t i) const { return p_.nodes[i].on_npu(); }
  /// A node's price on the NPU, whether it stays there or not.
  double npu_us(std::size_t i) const { return p_.nodes[i].options[best_[i]].us; }
  std::optional<bool> forced(std::size_t i) const {
    const auto at = options_.forced.find(i);
    return at == options_.forced.end() ? std::nullopt : std::optional(at->second);
  }

  void check_forced() const {
    for (const auto& [i, npu] : options_.forced) {
      check(i < g_.nodes.size(), "a unit is given for a node that is not there");
      if (!npu || can(i)) continue;
      std::string why;
      for (const Reason& r : p_.nodes[i].reasons())
        why += str(why.empty() ? "" : "; ", r.text, r.where.empty() ? "" : str(" (", r.where, ")"));
      fail(Code::unsupported, describe(g_.nodes[i]), " cannot run on the NPU of ", p_.target.name,
           ": ", why);
    }
  }

  std::vector<bool> wanted() const {
    std::vector<bool> out(g_.nodes.size());
    for (std::size_t i = 0; i < out.size(); i++) out[i] = can(i) && forced(i).value_or(true);
    return out;
  }

  /// Groups of nodes that hang together by values, of those that `in` says.
  template <class In>
  std::vector<std::vector<std::size_t>> groups(In in) const {
    std::vector<std::vector<std::size_t>> out;
    std::vector<bool> seen(g_.nodes.size());
    for (std::size_t start = 0; start < g_.nodes.size(); start++) {
      if (!in(start) || seen[start]) continue;
      std::vector<std::size_t> members = {start};
      seen[start] = true;
      const auto visit = [&](std::size_t i) {
        if (!in(i) || seen[i]) return;
        seen[i] = true;
        members.push_back(i);
      };
      for (std::size_t at = 0; at < members.size(); at++) {
        const Node& n = g_.nodes[members[at]];
        for (ValueId v : n.inputs)
          if (v != no_value && g_[v].def >= 0) visit(static_cast<std::size_t>(g_[v].def));
        for (ValueId v : n.outputs)
          if (v != no_value)
            for (std::size_t user : links_.users[index(v)]) visit(user);
      }
      out.push_back(std::move(members));
    }
    return out;
  }

  /// What multiplies the CPU's price of each node.
  std::vector<double> factors() const {
    std::vector<double> out(g_.nodes.size(), 1.0);
    const auto total = static_cast<double>(p_.macs());
    for (const std::vector<std::size_t>& group : groups([&](std::size_t i) { return can(i); })) {
      double macs = 0;
      for (std::size_t i : group) macs += static_cast<double>(p_.nodes[i].macs);
      if (total == 0 || macs <= small_share * total) continue;
      for (std::size_t i : group)
        if (p_.nodes[i].macs > 0) out[i] = body_factor;
    }
    return out;
  }

  /// True for what stays on the NPU in the cheapest of all ways to share out the nodes.
  std::vector<bool> cheapest() const {
    LeastCut cut;
    const std::vector<double> factor = factors();
    constexpr std::int64_t never = LeastCut::forbidden;
    for (std::size_t i = 0; i < g_.nodes.size(); i++) {
      const std::size_t vertex = cut.add_vertex();
      const std::optional<bool> given = forced(i);
      if (!can(i) || given == false)
        cut.add_prices(vertex, never, 0);
      else if (given == true || p_.nodes[i].cpu_us() < 0)
        cut.add_prices(vertex, 0, never);
      else
        cut.add_prices(vertex, price(npu_us(i)), price(p_.nodes[i].cpu_us() * factor[i]));
    }
    for (std::size_t k = 0; k < g_.values.size(); k++) {
      const auto v = ValueId(k);
      if (g_.constant(v) || links_.users[k].empty()) continue;
      // A value is handed over once, however many read it there.
      const std::int64_t to_cpu = price(move_price_us(g_, v, p_.target.machine, true)),
                         to_npu = price(move_price_us(g_, v, p_.target.machine, false));
      const std::size_t left = cut.add_vertex(), entered = cut.add_vertex();
      for (std::size_t user : links_.users[k]) {
        cut.add_edge(left, user, never);
        cut.add_edge(user, entered, never);
      }
      if (g_[v].def < 0) {
        cut.add_prices(entered, to_npu, 0);
        continue;
      }
      const auto def = static_cast<std::size_t>(g_[v].def);
      cut.add_edge(def, left, to_cpu);
      cut.add_edge(entered, def, to_npu);
      if (links_.is_output[k]) cut.add_prices(left, never, 0);
    }
    std::vector<bool> out = cut.first_side();
    out.resize(g_.nodes.size());
    return out;
  }

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

  /// Reasons of nodes that the NPU could run and does not.
  void explain() {
    for (const auto& [i, npu] : options_.forced)
      if (!npu && can(i))
        p_.nodes[i].options[best_[i]].reasons.push_back({"it is forced to the CPU",
                                                         {},
                                                         "do not force it there",
                                                         {Wanted::Kind::price, {}, {}, {}}});
    const auto moved = [&](std::size_t i) { return can(i) && !on_npu(i) && !forced(i); };
    for (const std::vector<std::size_t>& group : groups(moved)) explain(group);
  }

  void explain(const std::vector<std::size_t>& group) {
    double npu = 0, cpu = 0;
    std::vector<ValueId> touched;
    for (std::size_t i : group) {
      npu += npu_us(i);
      cpu += p_.nodes[i].cpu_us();
      for (const std::vector<ValueId>* list : {&g_.nodes[i].inputs, &g_.nodes[i].outputs})
        touched.insert(touched.end(), list->begin(), list->end());
    }
    std::ranges::sort(touched);
    touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
    double moves = 0;
    for (ValueId v : touched) moves -= crossing(v);
    for (std::size_t i : group) p_.nodes[i].chosen = best_[i];
    for (ValueId v : touched) moves += crossing(v);
    for (std::size_t i : group) p_.nodes[i].chosen = 0;
    // Where handing over costs less than is too much, bringing its neighbours is not enough.
    const double too_much = npu + moves - cpu;
    for (std::size_t i : group) {
      const std::string neighbours = kept_on_cpu(i);
      p_.nodes[i].options[best_[i]].reasons.push_back(
          {str("faster on the CPU",
               group.size() > 1 ? str(" together with ", group.size() - 1, " neighbour",
                                      group.size() == 2 ? "" : "s")
                                : std::string(),
               ": ", shown_us(cpu), " there, ", shown_us(npu), " on the NPU",
               moves > 0 ? str(" and ", shown_us(moves), " for handing over")
                         : str(", where handing over would take ", shown_us(-moves), " less")),
           {},
           str("save ", shown_us(too_much), too_much <= moves ? " of handing over" : " on the NPU",
               neighbours.empty() ? std::string() : str(": bring ", neighbours, " to the NPU")),
           {Wanted::Kind::price, {}, {}, {}}});
    }
  }

  /// Neighbours that the NPU cannot run, for advice: at most two.
  std::string kept_on_cpu(std::size_t i) const {
    std::vector<std::size_t> found;
    const auto look = [&](std::size_t k) {
      if (!can(k) && found.size() < 2 && !is_border(g_, g_.nodes[k]) &&
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
  const PlaceOptions& options_;
  Links links_;
  std::vector<std::size_t> best_;  // the NPU's cheapest option of each node; 0: none
};

}  // namespace

bool is_border(const Graph& g, const Node& n) {
  const auto codes = [&](const std::vector<ValueId>& list) {
    return std::ranges::any_of(list,
                               [&](ValueId v) { return v != no_value && g[v].type.quantised(); });
  };
  return n.op->quant == Quant::recode && codes(n.inputs) != codes(n.outputs);
}

void choose_units(Placement& p, const PlaceOptions& options) { Chooser(p, options).run(); }

}  // namespace longshore
