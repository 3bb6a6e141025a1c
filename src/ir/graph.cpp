#include "ir/graph.hpp"

#include <algorithm>
#include <queue>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "base/error.hpp"
#include "ir/infer.hpp"
#include "ir/op.hpp"

namespace longshore {

bool Node::operator==(const Node& other) const {
  return op == other.op && inputs == other.inputs && outputs == other.outputs &&
         attributes == other.attributes && subgraphs == other.subgraphs && origin == other.origin;
}

Graph::Graph() = default;
Graph::Graph(const Graph&) = default;
Graph::Graph(Graph&&) noexcept = default;
Graph& Graph::operator=(const Graph&) = default;
Graph& Graph::operator=(Graph&&) noexcept = default;
Graph::~Graph() = default;

bool Graph::operator==(const Graph& other) const {
  return name == other.name && numbers == other.numbers && values == other.values &&
         nodes == other.nodes && inputs == other.inputs && outputs == other.outputs &&
         captured == other.captured && states == other.states;
}

struct NameIndex::Ids : std::unordered_map<std::string, std::size_t> {};

NameIndex::NameIndex() noexcept = default;
NameIndex::NameIndex(const NameIndex&) noexcept {}
NameIndex::NameIndex(NameIndex&& other) noexcept
    : ids_(std::move(other.ids_)), known_(std::exchange(other.known_, 0)) {}
NameIndex& NameIndex::operator=(const NameIndex&) noexcept {
  ids_.reset();
  known_ = 0;
  return *this;
}
NameIndex& NameIndex::operator=(NameIndex&& other) noexcept {
  ids_ = std::move(other.ids_);
  known_ = std::exchange(other.known_, 0);
  return *this;
}
NameIndex::~NameIndex() = default;

bool NameIndex::taken(const std::vector<Value>& values, const std::string& name) {
  if (!ids_) ids_ = std::make_unique<Ids>();
  known_ = std::min(known_, values.size());  // values may have been dropped at the end
  for (; known_ < values.size(); known_++) ids_->insert_or_assign(values[known_].name, known_);
  const auto it = ids_->find(name);
  return it != ids_->end() && it->second < values.size() && values[it->second].name == name;
}

void NameIndex::renamed(const std::vector<Value>& values, std::size_t value) {
  if (value < known_) ids_->insert_or_assign(values[value].name, value);
}

ValueId Graph::add_value(std::string_view wanted, TensorType type) {
  std::string unique = wanted.empty() ? str("v", values.size()) : std::string(wanted);
  for (int i = 1; names_.taken(values, unique); i++)
    unique = str(wanted.empty() ? "v" : wanted, "_", values.size(), i > 1 ? str("_", i) : "");
  values.push_back({std::move(unique), std::move(type), {}, -1});
  return ValueId(values.size() - 1);
}

ValueId Graph::add_input(std::string_view wanted, TensorType type) {
  inputs.push_back(add_value(wanted, std::move(type)));
  return inputs.back();
}

ValueId Graph::add_captured(std::string_view wanted, TensorType type) {
  captured.push_back(add_value(wanted, std::move(type)));
  return captured.back();
}

ValueId Graph::add_constant(std::string_view wanted, Tensor tensor) {
  const ValueId v = add_value(wanted, TensorType(tensor.dtype, tensor.shape));
  (*this)[v].constant = std::move(tensor);
  return v;
}

int Graph::add_node(Node node, std::size_t output_count) {
  while (!node.inputs.empty() && node.inputs.back() == no_value) node.inputs.pop_back();
  while (node.outputs.size() < output_count) node.outputs.push_back(add_value({}, {}));
  for (ValueId v : node.outputs)
    if (v != no_value) (*this)[v].def = static_cast<int>(nodes.size());
  nodes.push_back(std::move(node));
  infer_node(*this, nodes.size() - 1);
  return static_cast<int>(nodes.size()) - 1;
}

ValueId Graph::add(std::string_view op, std::vector<ValueId> in, Attributes attributes,
                   std::string_view output_name) {
  Node node;
  node.op = &op_named(op);
  node.inputs = std::move(in);
  node.attributes = std::move(attributes);
  node.outputs = {add_value(output_name, {})};
  node.origin.name = (*this)[node.outputs[0]].name;
  return nodes[static_cast<std::size_t>(add_node(std::move(node)))].outputs[0];
}

void Graph::swap_names(ValueId a, ValueId b) {
  std::swap((*this)[a].name, (*this)[b].name);
  for (ValueId v : {a, b}) names_.renamed(values, index(v));
}

std::vector<int> use_counts(const Graph& g) {
  std::vector<int> uses(g.values.size());
  const auto use = [&](ValueId v) {
    if (v != no_value) uses[index(v)]++;
  };
  for (const Node& n : g.nodes) {
    std::ranges::for_each(n.inputs, use);
    for (const Subgraph& s : n.subgraphs) std::ranges::for_each(s.captures, use);
  }
  std::ranges::for_each(g.outputs, use);
  return uses;
}

namespace {

/// Copies what is needed into a fresh graph, in the order of the text form.
class Tidier {
 public:
  explicit Tidier(const Graph& from) : from_(from), to_(from.values.size(), no_value) {}

  Graph run() {
    std::vector<bool> needed_node(from_.nodes.size());
    std::vector<bool> needed(from_.values.size());
    const auto need = [&](ValueId v) {
      if (v != no_value) needed[index(v)] = true;
    };
    std::ranges::for_each(from_.outputs, need);
    for (std::size_t i = from_.nodes.size(); i-- > 0;) {
      const Node& n = from_.nodes[i];
      needed_node[i] = std::any_of(n.outputs.begin(), n.outputs.end(),
                                   [&](ValueId v) { return v != no_value && needed[index(v)]; });
      if (!needed_node[i]) continue;
      std::ranges::for_each(n.inputs, need);
      for (const Subgraph& s : n.subgraphs)
        for (std::size_t k = 0; k < s.captures.size(); k++) need(s.captures[k]);
    }
    out_.name = from_.name;
    out_.numbers = from_.numbers;
    out_.states = from_.states;
    for (ValueId v : from_.inputs) out_.inputs.push_back(move(v));
    for (ValueId v : from_.captured) out_.captured.push_back(move(v));
    for (std::size_t i = 0; i < from_.nodes.size(); i++)
      if (needed_node[i]) node(from_.nodes[i], needed);
    for (ValueId v : from_.outputs) out_.outputs.push_back(move(v));
    return std::move(out_);
  }

 private:
  ValueId move(ValueId v) {
    if (v == no_value) return v;
    ValueId& to = to_[index(v)];
    if (to == no_value) {
      to = ValueId(out_.values.size());
      out_.values.push_back(from_[v]);
      out_.values.back().def = -1;
    }
    return to;
  }

  void node(const Node& n, const std::vector<bool>& needed) {
    Node copy = n;
    for (ValueId& v : copy.inputs) v = move(v);
    while (!copy.inputs.empty() && copy.inputs.back() == no_value) copy.inputs.pop_back();
    for (Subgraph& s : copy.subgraphs) {
      s.body = tidy(s.body);
      drop_unused_captures(s);
      for (ValueId& v : s.captures) v = move(v);
    }
    const bool fixed_outputs = !n.subgraphs.empty();  // their bodies compute all of them
    for (ValueId& v : copy.outputs) {
      if (v == no_value) continue;
      const bool optional = !fixed_outputs && &v != &copy.outputs.front();
      if (optional && !needed[index(v)] &&
          droppable(n, static_cast<std::size_t>(&v - copy.outputs.data()))) {
        v = no_value;
        continue;
      }
      v = move(v);
      out_[v].def = static_cast<int>(out_.nodes.size());
    }
    while (!copy.outputs.empty() && copy.outputs.back() == no_value) copy.outputs.pop_back();
    out_.nodes.push_back(std::move(copy));
  }

  static bool droppable(const Node& n, std::size_t i) {
    return i < n.op->schema.outputs.size() &&
           n.op->schema.outputs[i].presence == Presence::optional;
  }

  static void drop_unused_captures(Subgraph& s) {
    const std::vector<int> uses = use_counts(s.body);
    bool changed = false;
    for (std::size_t k = s.captures.size(); k-- > 0;) {
      if (uses[index(s.body.captured[k])] > 0) continue;
      s.captures.erase(s.captures.begin() + static_cast<std::ptrdiff_t>(k));
      s.body.captured.erase(s.body.captured.begin() + static_cast<std::ptrdiff_t>(k));
      changed = true;
    }
    if (changed) s.body = tidy(s.body);
  }

  const Graph& from_;
  Graph out_;
  std::vector<ValueId> to_;
};

}  // namespace

Graph tidy(const Graph& g) { return Tidier(g).run(); }

void sort_nodes(Graph& g) {
  const std::size_t n = g.nodes.size();
  for (Value& v : g.values) v.def = -1;
  for (std::size_t i = 0; i < n; i++)
    for (ValueId v : g.nodes[i].outputs)
      if (v != no_value) g[v].def = static_cast<int>(i);

  std::vector<std::vector<std::size_t>> users(n);
  std::vector<std::size_t> waiting(n);
  for (std::size_t i = 0; i < n; i++) {
    const auto depends = [&](ValueId v) {
      if (v == no_value || g[v].def < 0) return;
      users[static_cast<std::size_t>(g[v].def)].push_back(i);
      waiting[i]++;
    };
    std::ranges::for_each(g.nodes[i].inputs, depends);
    for (const Subgraph& s : g.nodes[i].subgraphs) std::ranges::for_each(s.captures, depends);
  }
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t i = 0; i < n; i++)
    if (waiting[i] == 0) ready.push(i);
  std::vector<std::size_t> order;
  while (!ready.empty()) {
    const std::size_t i = ready.top();
    ready.pop();
    order.push_back(i);
    for (std::size_t user : users[i])
      if (--waiting[user] == 0) ready.push(user);
  }
  if (order.size() < n) {
    for (std::size_t i = 0; i < n; i++)
      if (waiting[i] > 0)
        fail(Code::bad_model, "the graph has a cycle through node ", describe(g.nodes[i]));
  }
  std::vector<Node> sorted;
  for (std::size_t i : order) sorted.push_back(std::move(g.nodes[i]));
  g.nodes = std::move(sorted);
  for (std::size_t i = 0; i < n; i++)
    for (ValueId v : g.nodes[i].outputs)
      if (v != no_value) g[v].def = static_cast<int>(i);
}

std::string describe(const Node& n) {
  return str("'", n.origin.name, "' (", n.op ? qualified_name(*n.op) : n.origin.op, ")");
}

}  // namespace longshore
