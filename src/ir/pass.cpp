#include "ir/pass.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "tensor/visit.hpp"

namespace longshore {
namespace {

bool contains(const std::vector<ValueId>& list, ValueId v) {
  return std::find(list.begin(), list.end(), v) != list.end();
}

/// An output keeps its name: the new value takes it over, which an input, a captured value, a
/// constant, or a value that is an output already cannot do.
bool can_take_name(const Graph& g, ValueId now) {
  return !contains(g.inputs, now) && !contains(g.captured, now) && !contains(g.outputs, now) &&
         !g.constant(now);
}

void substitute(Graph& g, ValueId old, ValueId now) {
  const auto swap_in = [&](std::vector<ValueId>& list) { std::ranges::replace(list, old, now); };
  for (Node& n : g.nodes) {
    swap_in(n.inputs);
    for (Subgraph& s : n.subgraphs) swap_in(s.captures);
  }
  if (contains(g.outputs, old)) {
    swap_in(g.outputs);
    std::swap(g[old].name, g[now].name);
  }
}

bool same_codes(const TensorType& a, const TensorType& b) {
  return a.dtype == b.dtype && a.quant == b.quant;
}

/// One sweep over the nodes; true if something changed.
bool sweep(const Pass& pass, Graph& g) {
  std::vector<int> uses = use_counts(g);
  bool changed = false;
  for (std::size_t i = 0, count = g.nodes.size(); i < count; i++) {
    const Node& n = g.nodes[i];
    // A node replaced in this sweep is dead already.
    const bool live = std::any_of(n.outputs.begin(), n.outputs.end(),
                                  [&](ValueId v) { return v != no_value && uses[index(v)] > 0; });
    if (!live || n.output() == no_value) continue;  // rules replace the first output
    const std::size_t nodes = g.nodes.size(), values = g.values.size();
    // Rules hold pointers to nodes and types while they add a few.
    g.nodes.reserve(nodes + 32);
    g.values.reserve(values + 64);
    Match match(g, i, uses);
    bool done = pass.rewrite(match);
    for (const auto& [old, now] : match.replaced()) {
      const TensorType &before = g[old].type, &after = g[now].type;
      done = done && (!contains(g.outputs, old) || can_take_name(g, now));
      // Rules are written for numbers. Where a node in between rounds to codes, or the result has
      // other codes, the replacement is not equal.
      if (before.quantised() || after.quantised()) done = done && same_codes(before, after);
    }
    if (!done) {
      g.nodes.resize(nodes);
      g.values.resize(values);
      continue;
    }
    for (const auto& [old, now] : match.replaced()) {
      const TensorType &before = g[old].type, &after = g[now].type;
      if (before.dtype != after.dtype && before.dtype != DType::undefined &&
          after.dtype != DType::undefined)
        fail(Code::internal, "this is a bug: a pass makes ", print(after), " of '", g[old].name,
             "', which is ", print(before), ", at node ", describe(g.nodes[i]));
      substitute(g, old, now);
    }
    changed = true;
    uses = use_counts(g);
  }
  if (changed) {
    sort_nodes(g);
    g = tidy(g);
  }
  return changed;
}

}  // namespace

bool Match::is(const Node& n, std::string_view op) {
  const std::size_t dot = op.rfind('.');
  return dot == std::string_view::npos
             ? n.op->domain.empty() && n.op->name == op
             : n.op->domain == op.substr(0, dot) && n.op->name == op.substr(dot + 1);
}

const Node* Match::def(ValueId v, std::string_view op) const {
  const Node* n = g_.def(v);
  return n && is(*n, op) && n->outputs[0] == v ? n : nullptr;
}

bool Match::is_output(ValueId v) const { return contains(g_.outputs, v); }

std::optional<double> Match::scalar(ValueId v) const {
  const Tensor* t = constant(v);
  if (!t || t->elements() != 1 || g_[v].type.quantised()) return {};
  double out = 0;
  const bool known = visit_type(NumberTypes{}, t->dtype,
                                [&]<class T>() { out = static_cast<double>(t->values<T>()[0]); });
  return known ? std::optional(out) : std::nullopt;
}

ValueId Match::add_constant(Tensor tensor) { return g_.add_constant({}, std::move(tensor)); }

ValueId Match::add(std::string_view op, std::vector<ValueId> inputs, Attributes attributes) {
  Node n;
  n.op = &op_named(op);
  n.inputs = std::move(inputs);
  n.attributes = std::move(attributes);
  return add_node(std::move(n));
}

ValueId Match::add_node(Node n) {
  if (n.origin.name.empty()) n.origin = node().origin;
  n.outputs.clear();
  // What only moves elements keeps their codes.
  if (const ValueId x = n.input(0);
      n.op->quant == Quant::same && x != no_value && g_[x].type.quantised()) {
    TensorType moved = TensorType::unranked(g_[x].type.dtype);
    moved.quant = g_[x].type.quant;
    n.outputs = {g_.add_value({}, std::move(moved))};
  }
  const int at = g_.add_node(std::move(n));
  return g_.nodes[static_cast<std::size_t>(at)].outputs[0];
}

Graph apply(const Pass& pass, const Graph& from) {
  if (pass.run) return tidy(pass.run(from));
  Graph g = tidy(from);
  for (int round = 0; sweep(pass, g); round++)
    check(round < 1000, "a pass does not come to an end");
  for (Node& n : g.nodes)
    for (Subgraph& s : n.subgraphs) s.body = apply(pass, s.body);
  return g;
}

}  // namespace longshore
