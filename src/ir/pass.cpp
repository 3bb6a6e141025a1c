#include "ir/pass.hpp"

#include <algorithm>
#include <utility>

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

/// Who uses each value, kept right through a sweep: counting anew after each rewrite would walk the
/// whole graph as often as there are rewrites.
class Uses {
 public:
  explicit Uses(const Graph& g) : counts_(use_counts(g)), users_(g.values.size()) {
    for (std::size_t i = 0; i < g.nodes.size(); i++) list(g, i, [](ValueId) {});
  }
  /// What use_counts would say.
  const std::vector<int>& counts() const { return counts_; }

  /// The nodes from `first` on are new.
  void add_nodes(const Graph& g, std::size_t first) {
    counts_.resize(g.values.size());
    users_.resize(g.values.size());
    for (std::size_t i = first; i < g.nodes.size(); i++)
      list(g, i, [&](ValueId v) { counts_[index(v)]++; });
  }

  void substitute(Graph& g, ValueId old, ValueId now) {
    if (old == now) return;
    const auto swap_in = [&](std::vector<ValueId>& list) { std::ranges::replace(list, old, now); };
    for (std::size_t i : users_[index(old)]) {
      swap_in(g.nodes[i].inputs);
      for (Subgraph& s : g.nodes[i].subgraphs) swap_in(s.captures);
    }
    if (contains(g.outputs, old)) {
      swap_in(g.outputs);
      g.swap_names(old, now);
    }
    counts_[index(now)] += std::exchange(counts_[index(old)], 0);
    std::vector<std::size_t>&from = users_[index(old)], &to = users_[index(now)];
    if (to.size() < from.size()) std::swap(from, to);
    to.insert(to.end(), from.begin(), from.end());
    from.clear();
  }

 private:
  template <class F>
  void list(const Graph& g, std::size_t node, F&& each_use) {
    const auto use = [&](ValueId v) {
      if (v == no_value) return;
      each_use(v);
      if (users_[index(v)].empty() || users_[index(v)].back() != node)
        users_[index(v)].push_back(node);
    };
    std::ranges::for_each(g.nodes[node].inputs, use);
    for (const Subgraph& s : g.nodes[node].subgraphs) std::ranges::for_each(s.captures, use);
  }

  std::vector<int> counts_;
  std::vector<std::vector<std::size_t>> users_;  // nodes; one that left may be listed still
};

bool same_codes(const TensorType& a, const TensorType& b) {
  return a.dtype == b.dtype && a.quant == b.quant;
}

/// Whether `after` says all that `before` says, and the same. More may be known: what shape
/// arithmetic or a folded constant found out.
bool keeps_type(const TensorType& before, const TensorType& after) {
  if (before.dtype != DType::undefined && before.dtype != after.dtype) return false;
  // Rules are written for numbers. Where a node in between rounds to codes, or the result has
  // other codes, the replacement is not equal.
  if ((before.quantised() || after.quantised()) && !same_codes(before, after)) return false;
  if (!before.ranked) return true;
  if (!after.ranked || before.rank() != after.rank()) return false;
  for (std::size_t i = 0; i < before.dims.size(); i++) {
    const Dim &b = before.dims[i], &a = after.dims[i];
    if ((b.known() || !b.symbol.empty()) && !b.same(a)) return false;
  }
  return true;
}

/// Room for what one rule adds: rules hold pointers to nodes and types meanwhile.
constexpr std::size_t room_nodes = 256, room_values = 1024;
template <class T>
void make_room(std::vector<T>& list, std::size_t more) {
  if (list.capacity() - list.size() < more) list.reserve(2 * list.size() + more);
}

/// Rewrites node i, unless the rule finds nothing to do or a type would change.
template <class Rewrite>
bool rewrite_at(Graph& g, std::size_t i, Uses& uses, Rewrite&& rewrite) {
  const Node& n = g.nodes[i];
  // A node replaced in this sweep is dead already.
  const bool live = std::any_of(n.outputs.begin(), n.outputs.end(), [&](ValueId v) {
    return v != no_value && uses.counts()[index(v)] > 0;
  });
  if (!live || n.output() == no_value) return false;  // rules replace the first output
  const std::size_t nodes = g.nodes.size(), values = g.values.size();
  make_room(g.nodes, room_nodes);
  make_room(g.values, room_values);
  Match match(g, i, uses.counts());
  bool done = rewrite(match);
  for (const auto& [old, now] : match.replaced()) {
    done = done && keeps_type(g[old].type, g[now].type) &&
           (!contains(g.outputs, old) || can_take_name(g, now));
  }
  if (!done) {
    g.nodes.resize(nodes);
    g.values.resize(values);
    return false;
  }
  uses.add_nodes(g, nodes);
  for (const auto& [old, now] : match.replaced()) uses.substitute(g, old, now);
  return true;
}

/// One sweep over the nodes; true if something changed.
bool sweep(const Pass& pass, Graph& g) {
  Uses uses(g);
  bool changed = false;
  for (std::size_t i = 0, count = g.nodes.size(); i < count; i++)
    changed = rewrite_at(g, i, uses, pass.rewrite) || changed;
  if (changed) {
    sort_nodes(g);
    g = tidy(g);
  }
  return changed;
}

/// Inputs and outputs of the whole graph stay as they are.
void check_border(const Graph& before, const Graph& after) {
  const auto same = [&](const std::vector<ValueId>& a, const std::vector<ValueId>& b) {
    bool ok = a.size() == b.size();
    for (std::size_t i = 0; ok && i < a.size(); i++)
      ok = before[a[i]].name == after[b[i]].name && keeps_type(before[a[i]].type, after[b[i]].type);
    return ok;
  };
  check(same(before.inputs, after.inputs) && same(before.outputs, after.outputs),
        "a pass changes the inputs or outputs of the graph");
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

std::optional<double> Match::scalar(ValueId v, ValueId x) const {
  const TensorType& t = type(x);
  const int rank = v == no_value ? 0 : type(v).rank();
  return rank == 0 || (t.ranked && rank <= t.rank()) ? scalar(v) : std::nullopt;
}

ValueId Match::add_constant(Tensor tensor) {
  check(g_.values.size() < g_.values.capacity(), "a rule adds more values than it has room for");
  return g_.add_constant({}, std::move(tensor));
}

ValueId Match::add(std::string_view op, std::vector<ValueId> inputs, Attributes attributes) {
  Node n;
  n.op = &op_named(op);
  n.inputs = std::move(inputs);
  n.attributes = std::move(attributes);
  return add_node(std::move(n));
}

ValueId Match::add_node(Node n) {
  check(g_.nodes.size() < g_.nodes.capacity() &&
            g_.values.size() + n.op->schema.outputs.size() <= g_.values.capacity(),
        "a rule adds more nodes than it has room for");
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

std::optional<Graph> rewrite_node(const Graph& from, std::size_t node,
                                  const std::function<bool(Match&)>& rewrite) {
  Graph g = from;
  Uses uses(g);
  if (!rewrite_at(g, node, uses, rewrite)) return {};
  sort_nodes(g);
  return tidy(g);
}

Graph apply(const Pass& pass, const Graph& from) {
  if (pass.run) {
    Graph g = tidy(pass.run(from));
    check_border(from, g);
    return g;
  }
  Graph g = tidy(from);
  for (int round = 0; sweep(pass, g); round++)
    check(round < 1000, "a pass does not come to an end");
  for (Node& n : g.nodes)
    for (Subgraph& s : n.subgraphs) s.body = apply(pass, s.body);
  return g;
}

}  // namespace longshore
