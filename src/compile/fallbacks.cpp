#include "compile/fallbacks.hpp"

#include <algorithm>
#include <cctype>
#include <set>

#include "base/error.hpp"
#include "compile/near_names.hpp"
#include "compile/why_float.hpp"
#include "place/units.hpp"
#include "quantize/select.hpp"

namespace longshore::compile {
namespace {

/// How often changes are made and what they uncover is looked at.
constexpr int most_rounds = 4;

bool wants(const std::vector<Reason>& reasons, Wanted::Kind kind) {
  return std::ranges::any_of(reasons, [&](const Reason& r) { return r.wanted.kind == kind; });
}

/// What a border is there for.
Reason border_reason(const Graph& g, const Node& n) {
  const bool enters = n.output() != no_value && g[n.output()].type.quantised();
  const ValueId v = enters ? n.input(0) : n.output();
  const bool outer =
      enters ? g.def(v) == nullptr : std::ranges::find(g.outputs, v) != g.outputs.end();
  if (enters)
    return {outer ? str("the model takes '", g[v].name, "' as ", name(g[v].type.dtype))
                  : str("'", g[v].name, "' is float: ", describe(*g.def(v)), " makes it"),
            {},
            outer ? std::string("--input-type u8 for pictures, or give the program codes")
                  : str("bring ", describe(*g.def(v)), " to the NPU")};
  return {outer ? str("the model gives '", g[v].name, "' as ", name(g[v].type.dtype))
                : str("'", g[v].name, "' is read as ", name(g[v].type.dtype)),
          {},
          outer ? std::string("take codes out of the program")
                : std::string("bring the nodes that read it to the NPU")};
}

Fallback::Kind kind_of(const Compiled& c, std::size_t node, const std::vector<Reason>& reasons) {
  const Graph& g = c.plan.placement.graph;
  if (is_border(g, g.nodes[node])) return Fallback::Kind::border;
  if (wants(reasons, Wanted::Kind::price)) return Fallback::Kind::price;
  return wants(reasons, Wanted::Kind::codes) ? Fallback::Kind::follows : Fallback::Kind::limit;
}

/// The reasons without what tells one node from the next: names in quotes and numbers.
std::string pattern_of(const std::vector<Reason>& reasons) {
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

const ChangeDef* change_for(const Node& n, const std::vector<Reason>& reasons) {
  for (const ChangeDef* change : changes::all())
    if (fits(*change, n, reasons)) return change;
  return nullptr;
}

/// The node of `g` that became node `n` of `from`, which may have a twin of the same origin: the
/// one with an output of the same name, or the first.
std::optional<std::size_t> find_node(const Graph& g, const Graph& from, const Node& n) {
  std::optional<std::size_t> out;
  for (std::size_t i = 0; i < g.nodes.size(); i++) {
    const Node& k = g.nodes[i];
    if (k.op != n.op || k.origin.name != n.origin.name) continue;
    if (g[k.output()].name == from[n.output()].name) return i;
    if (!out) out = i;
  }
  return out;
}

/// The graph with these nodes changed, as many as can be, and the operators that came for them.
struct Changed {
  Graph graph;
  std::vector<std::size_t> nodes;  // places in the list that was given
  std::string to;
};
std::optional<Changed> change_nodes(const Compiled& c, std::span<const Fallback> list,
                                    const ChangeDef& change) {
  const Graph& placed = c.plan.placement.graph;
  Changed out{c.optimised, {}, {}};
  for (std::size_t k = 0; k < list.size(); k++) {
    const Node& n = placed.nodes[list[k].node];
    const std::optional<std::size_t> at = find_node(out.graph, placed, n);
    if (!at) continue;
    std::optional<Graph> next = apply(change, out.graph, *at, list[k].reasons);
    if (!next) continue;
    if (out.to.empty())
      for (const Node& made : next->nodes)
        if (made.origin.name == n.origin.name)
          out.to += str(out.to.empty() ? "" : ", ", made.op->name);
    out.graph = std::move(*next);
    out.nodes.push_back(k);
  }
  return out.nodes.empty() ? std::nullopt : std::optional(std::move(out));
}

Options options_for(Options options, const Compiled& c, Graph graph) {
  options.model = c.model;
  options.model->graph = std::move(graph);
  options.first = Stage::import;
  options.lint = false;  // the samples are the same
  return options;
}

/// What keeps one of the nodes, or what came for it, from the NPU still.
std::string left_of(const Compiled& before, std::span<const Fallback> nodes,
                    const Compiled& after) {
  std::set<std::string> names;
  for (const Fallback& f : nodes)
    names.insert(before.plan.placement.graph.nodes[f.node].origin.name);
  for (const Fallback& f : fallbacks(after)) {
    const Node& n = after.plan.placement.graph.nodes[f.node];
    if (f.kind == Fallback::Kind::price || f.kind == Fallback::Kind::border ||
        !names.contains(n.origin.name))
      continue;
    return str(describe(n), f.reasons.empty() ? "" : ": " + f.reasons.front().text);
  }
  return {};
}

/// Builds again with the change and says what came of it.
void try_change(const Options& options, const Compiled& c, Suggestion& s) {
  std::optional<Changed> changed = change_nodes(c, s.nodes, *s.change);
  if (!changed) {
    s.change = nullptr;
    return;
  }
  s.to = std::move(changed->to);
  Options again = options_for(options, c, std::move(changed->graph));
  again.snapshot = {};
  const Compiled after = compile(again);
  s.tried = true;
  s.after_ms = after.timing.total_ns * 1e-6;
  s.left = left_of(c, s.nodes, after);
}

/// Whether a name given to compile_changed means this node or its change.
bool means(const std::string& name, const Graph& g, const Node& n, const ChangeDef& change) {
  return name == "all" || name == name_of(change) || excluded(g, n, std::span(&name, 1)) ||
         (name == "exact" && change.exact);
}

[[noreturn]] void refuse(const Compiled& c, const std::string& wanted) {
  const Graph& g = c.plan.placement.graph;
  std::vector<std::string> names;
  for (const Fallback& f : fallbacks(c)) {
    const Node& n = g.nodes[f.node];
    const bool named = excluded(g, n, std::span(&wanted, 1));
    if (named && f.kind == Fallback::Kind::price)
      fail(Code::bad_argument, "--apply ", wanted, ": nothing keeps ", describe(n),
           " from the NPU but its price; --force takes it there");
    if (named)
      fail(Code::bad_argument, "--apply ", wanted, ": no change is known for ", describe(n), ": ",
           f.reasons.empty() ? "" : f.reasons.front().text);
    if (f.kind == Fallback::Kind::limit) names.push_back(n.origin.name);
  }
  fail(Code::bad_argument, "--apply ", wanted,
       ": no node of that name, output or operator stays on the CPU, and no change has it",
       near_names(wanted, names));
}

}  // namespace

std::string_view name(Fallback::Kind kind) {
  static constexpr std::string_view names[] = {"limit", "follows", "price", "border"};
  return names[static_cast<std::size_t>(kind)];
}

std::vector<Reason> reasons_of(const Compiled& c, std::size_t node) {
  const Graph& g = c.plan.placement.graph;
  const NodePlacement& placed = c.plan.placement.nodes[node];
  if (!placed.on_npu() && is_border(g, g.nodes[node])) return {border_reason(g, g.nodes[node])};
  std::vector<Reason> out;
  bool told = false;
  for (Reason& r : placed.reasons()) {
    if (r.wanted.kind == Wanted::Kind::codes) {
      if (told) continue;
      told = true;
      WhyFloat why = why_float(c, node);
      r.text = std::move(why.text);
      r.change = std::move(why.change);
      r.wanted = std::move(why.wanted);
    }
    out.push_back(std::move(r));
  }
  return out;
}

std::vector<Fallback> fallbacks(const Compiled& c) {
  std::vector<Fallback> out;
  if (!c.npu()) return out;
  const Placement& p = c.plan.placement;
  for (std::size_t i = 0; i < p.nodes.size(); i++) {
    if (p.nodes[i].on_npu()) continue;
    Fallback f{.node = i, .reasons = reasons_of(c, i)};
    f.kind = kind_of(c, i, f.reasons);
    if (i < c.timing.layers.size()) {
      const TimeSplit& t = c.timing.layers[i].time;
      f.us = (t.own_ns() + t.of(Activity::cache) + t.of(Activity::waiting)) * 1e-3;
    } else {
      f.us = std::max(p.nodes[i].cpu_us(), 0.0);
    }
    out.push_back(std::move(f));
  }
  std::ranges::stable_sort(out, std::greater{}, &Fallback::us);
  return out;
}

std::vector<std::vector<Fallback>> alike(const Compiled& c, std::vector<Fallback> list) {
  const auto us = [](const std::vector<Fallback>& group) {
    double sum = 0;
    for (const Fallback& f : group) sum += f.us;
    return sum;
  };
  const Graph& g = c.plan.placement.graph;
  std::vector<std::vector<Fallback>> out;
  std::vector<std::pair<const OpDef*, std::string>> keys;
  for (Fallback& f : list) {
    std::pair<const OpDef*, std::string> key{g.nodes[f.node].op, f.kind == Fallback::Kind::border
                                                                     ? std::string()
                                                                     : pattern_of(f.reasons)};
    const auto at = std::ranges::find(keys, key) - keys.begin();
    if (static_cast<std::size_t>(at) == keys.size())
      keys.push_back(std::move(key)), out.push_back({});
    out[static_cast<std::size_t>(at)].push_back(std::move(f));
  }
  for (std::vector<Fallback>& group : out) std::ranges::sort(group, {}, &Fallback::node);
  std::ranges::stable_sort(out, std::greater{}, us);
  return out;
}

std::vector<Suggestion> suggest(const Options& options, const Compiled& c) {
  std::vector<Suggestion> out;
  const Graph& g = c.plan.placement.graph;
  for (std::vector<Fallback>& group : alike(c, fallbacks(c))) {
    const Fallback::Kind kind = group.front().kind;
    if (kind == Fallback::Kind::border) continue;
    const Node& n = g.nodes[group.front().node];
    Suggestion s;
    s.from = n.op->name;
    s.before_ms = c.timing.total_ns * 1e-6;
    if (kind == Fallback::Kind::limit) s.change = change_for(n, group.front().reasons);
    s.nodes = std::move(group);
    if (s.change) try_change(options, c, s);
    out.push_back(std::move(s));
  }
  return out;
}

Compiled compile_changed(Options options, const std::vector<std::string>& names) {
  Compiled c = compile(options);
  if (!c.npu())
    fail(Code::bad_argument, "--apply changes what an NPU cannot run; the target ",
         options.target ? options.target->name : std::string(), " has none");
  std::set<std::string> used;
  for (int round = 0; round < most_rounds; round++) {
    Graph graph = c.optimised;
    bool any = false;
    for (const Fallback& f : fallbacks(c)) {
      const Node& n = c.plan.placement.graph.nodes[f.node];
      const ChangeDef* change =
          f.kind == Fallback::Kind::limit ? change_for(n, f.reasons) : nullptr;
      if (!change) continue;
      const auto name = std::ranges::find_if(names, [&](const std::string& wanted) {
        return means(wanted, c.plan.placement.graph, n, *change);
      });
      if (name == names.end()) continue;
      const std::optional<std::size_t> at = find_node(graph, c.plan.placement.graph, n);
      std::optional<Graph> next = at ? apply(*change, graph, *at, f.reasons) : std::nullopt;
      if (!next) continue;
      graph = std::move(*next);
      used.insert(*name);
      any = true;
    }
    for (const std::string& name : names)
      if (round == 0 && name != "all" && name != "exact" && !used.contains(name)) refuse(c, name);
    if (!any) break;
    options = options_for(std::move(options), c, std::move(graph));
    std::vector<Finding> findings = std::move(c.findings);
    c = compile(options);
    c.findings = std::move(findings);
  }
  return c;
}

}  // namespace longshore::compile
