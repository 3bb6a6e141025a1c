#include <algorithm>

#include "base/error.hpp"
#include "read/onnx_graph.hpp"

namespace longshore::onnx {
namespace {

/// All names and attributes that inlining copies may take this many bytes.
constexpr std::size_t inlined_bytes_limit = std::size_t{1} << 30;

constexpr int oldest_opset = 6;

const char* name_of(AttributeKind kind) {
  constexpr const char* names[] = {
      "an integer",        "a number",        "a text",   "a list of integers",
      "a list of numbers", "a list of texts", "a tensor", "a graph"};
  return names[static_cast<int>(kind)];
}

/// Attributes as the operator knows them now: what it does not know would change its meaning.
void check_attributes(const Node& node, const std::string& what) {
  for (const Attribute& a : node.attributes) {
    const AttributeSpec* spec = nullptr;
    for (const AttributeSpec& each : node.op->schema.attributes)
      if (each.name == a.name) spec = &each;
    if (!spec) fail(Code::unsupported, what, ": its attribute '", a.name, "' is not known");
    if (spec->kind != a.kind())
      fail(Code::bad_model, what, ": its attribute '", a.name, "' is ", name_of(a.kind()), ", ",
           name_of(spec->kind), " expected");
  }
}

/// What `normalise` may do around the node that is being read.
class Surgery final : public Rewriter {
 public:
  using NewValue = std::function<ValueId(std::string, TensorType)>;
  Surgery(Graph& g, Node& node, NewValue new_value)
      : g_(g), node_(node), new_value_(std::move(new_value)) {}

  const Graph& graph() const override { return g_; }
  ValueId constant(Tensor tensor) override {
    const ValueId v = new_value_({}, TensorType(tensor.dtype, tensor.shape));
    g_[v].constant = std::move(tensor);
    return v;
  }
  ValueId before(std::string_view op, std::vector<ValueId> inputs, Attributes attributes) override {
    Node n;
    n.op = &op_named(op);
    n.inputs = std::move(inputs);
    n.attributes = std::move(attributes);
    n.origin = node_.origin;
    n.outputs = {new_value_({}, {})};
    const ValueId out = n.outputs[0];
    g_.add_node(std::move(n), 0);
    return out;
  }
  void after(Node& node, std::string_view op, std::vector<ValueId> extra_inputs,
             Attributes attributes) override {
    Node n;
    n.op = &op_named(op);
    const ValueId inner = new_value_({}, {});
    n.inputs = {inner};
    n.inputs.insert(n.inputs.end(), extra_inputs.begin(), extra_inputs.end());
    n.attributes = std::move(attributes);
    n.origin = node_.origin;
    n.outputs = {node.outputs.at(0)};
    node.outputs[0] = inner;
    after_.push_back(std::move(n));
  }
  /// Innermost first.
  void add_after() {
    for (auto n = after_.rbegin(); n != after_.rend(); ++n) g_.add_node(std::move(*n), 0);
  }

 private:
  Graph& g_;
  Node& node_;
  NewValue new_value_;
  std::vector<Node> after_;
};

}  // namespace

Graph Importer::run(ReadResult& result) {
  Graph g;
  std::unordered_set<std::string> taken;
  Scope scope{g, taken, {}, nullptr, nullptr};
  read_graph(scope, *model_.mutable_graph(), {opsets_, nullptr, {}, nullptr, 0}, &result);
  return g;
}

ValueId Importer::new_value(Scope& s, std::string name, TensorType type) {
  if (name.empty()) name = str("v", s.graph.values.size());
  if (!s.taken.insert(name).second) {
    int i = 2;
    while (!s.taken.insert(str(name, "_", i)).second) i++;
    name = str(name, "_", i);
  }
  s.graph.values.push_back({std::move(name), std::move(type), {}, -1});
  return ValueId(s.graph.values.size() - 1);
}

ValueId Importer::new_constant(Scope& s, std::string name, Tensor tensor) {
  const ValueId v = new_value(s, std::move(name), TensorType(tensor.dtype, tensor.shape));
  s.graph[v].constant = std::move(tensor);
  return v;
}

void Importer::bind(Scope& s, const std::string& name, ValueId v, const std::string& what) {
  if (!s.names.emplace(name, v).second)
    fail(Code::bad_model, what, ": the value '", name, "' has another source too");
}

std::string Importer::value_name(const std::string& name, const Surroundings& s) const {
  if (s.result_names)
    if (const auto it = s.result_names->find(name); it != s.result_names->end()) return it->second;
  return s.prefix + name;
}

/// no_value if there is none of this name. Values of outer graphs become captures; outer constants
/// are shared instead, so that the subgraph's operators see them.
ValueId Importer::lookup(Scope& s, const std::string& name) {
  if (const auto it = s.names.find(name); it != s.names.end()) return it->second;
  if (!s.outer) return no_value;
  const ValueId outer = lookup(*s.outer, name);
  if (outer == no_value) return no_value;
  const Value& from = s.outer->graph[outer];
  ValueId v = no_value;
  if (from.constant.present()) {
    v = new_constant(s, from.name, from.constant);
  } else {
    v = new_value(s, from.name, from.type);
    s.graph.captured.push_back(v);
    s.subgraph->captures.push_back(outer);
  }
  s.names.emplace(name, v);
  return v;
}

ValueId Importer::require_value(Scope& s, const std::string& name, const NodeProto& n) {
  const ValueId v = lookup(s, name);
  if (v == no_value &&
      !s.names.contains(name))  // an absent argument of a function is bound to no_value
    fail(Code::bad_model, describe(n), ": no value is named '", name, "'");
  return v;
}

void Importer::read_graph(Scope& scope, GraphProto& g, const Surroundings& s, ReadResult* result) {
  scope.graph.name = g.name();
  std::map<std::string, Tensor> initialisers;
  const auto initialise = [&](const std::string& name, Tensor t) {
    if (name.empty()) fail(Code::bad_model, "graph '", g.name(), "': an initialiser has no name");
    if (!initialisers.emplace(name, std::move(t)).second)
      fail(Code::bad_model, "graph '", g.name(), "': there are two initialisers '", name, "'");
  };
  for (TensorProto& t : *g.mutable_initializer())
    initialise(t.name(), tensor(t, source_, "initialiser '" + t.name() + "'", may_take(s)));
  for (SparseTensor& t : *g.mutable_sparse_initializer())
    initialise(t.values().name(),
               dense(t, source_, "sparse initialiser '" + t.values().name() + "'"));

  const ReadOptions& options = source_.options;
  for (int i = 0; i < g.input_size(); i++) {
    const ValueInfo& v = g.input(i);
    const std::string what = "input '" + v.name() + "'";
    if (v.name().empty())
      fail(Code::bad_model, "graph '", g.name(), "': input ", i, " has no name");
    if (result) result->declared_inputs.push_back(v.name());
    const auto start = initialisers.find(v.name());
    if (start != initialisers.end()) {
      const bool kept =
          result && model_.ir_version() >= 4 &&
          (static_cast<std::size_t>(i) < options.keep_first_inputs ||
           std::ranges::find(options.keep_inputs, v.name()) != options.keep_inputs.end());
      if (result) result->defaults[v.name()] = start->second;
      if (!kept) continue;
      initialisers.erase(start);
    }
    const bool typed = result || v.type().value_case() != TypeProto::VALUE_NOT_SET;
    const ValueId id = new_value(
        scope, v.name(), typed ? type(v.type(), what) : TensorType::unranked(DType::undefined));
    bind(scope, v.name(), id, what);
    scope.graph.inputs.push_back(id);
  }
  for (auto& [name, t] : initialisers)
    bind(scope, name, new_constant(scope, value_name(name, s), std::move(t)),
         "initialiser '" + name + "'");

  read_nodes(scope, *g.mutable_node(), s, "graph '" + g.name() + "'");
  if (g.output_size() == 0) fail(Code::bad_model, "graph '", g.name(), "' has no outputs");
  for (const ValueInfo& v : g.output()) {
    const ValueId id = lookup(scope, v.name());
    if (id == no_value)
      fail(Code::bad_model, "graph '", g.name(), "': its output '", v.name(), "' is not computed");
    scope.graph.outputs.push_back(id);
    if (result && v.type().value_case() != TypeProto::VALUE_NOT_SET) {
      const TensorType declared = type(v.type(), "output '" + v.name() + "'");
      const TensorType& found = scope.graph[id].type;
      if (found.dtype != DType::undefined && found.dtype != declared.dtype)
        source_.warnings.push_back(str("output '", v.name(), "' is declared as ",
                                       name(declared.dtype), " but is ", name(found.dtype)));
    }
  }
}

void Importer::read_nodes(Scope& scope, NodeList& list, const Surroundings& s,
                          const std::string& where) {
  const NodeProto* moved = nullptr;
  const std::vector<NodeProto*> order = sorted(list, moved);
  if (moved)
    source_.warnings.push_back(
        str(where, ": nodes were sorted; ", describe(*moved), " was listed before its inputs"));
  for (NodeProto* n : order) read_node(scope, *n, s);
}

void Importer::read_node(Scope& scope, NodeProto& n, const Surroundings& s) {
  if (++nodes_ > source_.options.limits.nodes)
    fail(Code::exhausted, "the model has more than ", source_.options.limits.nodes, " nodes");
  if (const auto f = functions_.find(function_key(n.domain(), n.op_type(), n.overload()));
      f != functions_.end())
    return call(scope, *f->second, n, s);
  const std::string domain(plain_domain(n.domain()));
  const std::string what = describe(n);
  if (domain.empty() && n.op_type() == "Constant") return read_constant(scope, n, s);
  const auto version = s.opsets.find(domain);
  if (version == s.opsets.end() && domain.empty())
    fail(Code::bad_model, what, ": the model does not say which opset of ai.onnx it uses");
  const int opset = version == s.opsets.end() ? 1 : version->second;
  if (domain.empty() && opset < oldest_opset)
    fail(Code::unsupported, "the model is of opset ", opset, "; opset ", oldest_opset,
         " is the oldest that can be read (onnx.version_converter can raise it)");

  Node node;
  node.op = find_op(domain, n.op_type());
  check(node.op != nullptr, "operators were checked");
  node.origin = {s.prefix + (!n.name().empty()     ? n.name()
                             : n.output_size() > 0 ? n.output(0)
                                                   : n.name()),
                 {},
                 opset};
  for (const std::string& name : n.input())
    node.inputs.push_back(name.empty() ? no_value : require_value(scope, name, n));
  for (AttributeProto& written : *n.mutable_attribute())
    if (AttributeProto* a = resolve(written, s, n))
      read_attribute(scope, node, written.name(), *a, s, n);
  std::ranges::sort(node.subgraphs, {}, &Subgraph::name);
  for (const std::string& name : n.output()) {
    node.outputs.push_back(name.empty() ? no_value : new_value(scope, value_name(name, s), {}));
    if (!name.empty()) bind(scope, name, node.outputs.back(), what);
  }
  if (node.outputs.empty()) fail(Code::bad_model, what, " has no outputs");

  Surgery surgery(scope.graph, node, [&](std::string name, TensorType type) {
    return new_value(scope, std::move(name), std::move(type));
  });
  const OpDef& written_op = *node.op;
  if (written_op.normalise) {
    // Rules for older opsets look at the first input; the rest of the arity is checked afterwards.
    const auto& expected = written_op.schema.inputs;
    if (!expected.empty() && expected[0].presence == Presence::required &&
        (node.inputs.empty() || node.inputs[0] == no_value))
      fail(Code::bad_model, what, " has no input '", expected[0].name, "'");
    try {
      written_op.normalise(node, opset, surgery);
    } catch (const Error& e) {
      if (std::string_view(e.what()).find("node '") != std::string_view::npos) throw;
      fail(e.code(), what, ": ", e.what());
    }
  }
  if (!node.op->eval) fail(Code::unsupported, what, ": this form of the operator is not supported");
  if (node.op != &written_op) node.origin.op = qualified_name(written_op);
  check_attributes(node, what);
  while (!node.outputs.empty() && node.outputs.back() == no_value) node.outputs.pop_back();
  scope.graph.add_node(std::move(node), 0);
  surgery.add_after();
}

void Importer::call(Scope& scope, FunctionProto& f, NodeProto& n, const Surroundings& s) {
  const std::string what = describe(n);
  if (s.depth >= source_.options.limits.depth)
    fail(Code::exhausted, what, ": functions are nested more than ", source_.options.limits.depth,
         " deep");
  if (n.input_size() > f.input_size() || n.output_size() > f.output_size())
    fail(Code::bad_model, what, ": the function takes ", f.input_size(), " inputs and gives ",
         f.output_size(), " outputs, not ", n.input_size(), " and ", n.output_size());
  const std::string& call_name = !n.name().empty()     ? n.name()
                                 : n.output_size() > 0 ? n.output(0)
                                                       : f.name();
  const std::string prefix = s.prefix + call_name + "/";
  inlined_bytes_ += f.ByteSizeLong() + prefix.size() * static_cast<std::size_t>(f.node_size() + 1);
  if (inlined_bytes_ > inlined_bytes_limit)
    fail(Code::exhausted, what, ": the functions of the model, inlined, take more than ",
         inlined_bytes_limit, " bytes");

  std::map<std::string, AttributeProto*, std::less<>> arguments;
  for (AttributeProto& a : *f.mutable_attribute_proto()) arguments[a.name()] = &a;
  for (AttributeProto& a : *n.mutable_attribute())
    if (AttributeProto* value = resolve(a, s, n)) arguments[a.name()] = value;
  Opsets opsets = f.opset_import_size() > 0 ? read_opsets(f.opset_import()) : s.opsets;
  std::unordered_map<std::string, ValueId> names;
  for (int i = 0; i < f.input_size(); i++) {
    const bool given = i < n.input_size() && !n.input(i).empty();
    names[f.input(i)] = given ? require_value(scope, n.input(i), n) : no_value;
  }
  std::map<std::string, std::string, std::less<>> result_names;
  for (int i = 0; i < n.output_size(); i++)
    if (!n.output(i).empty()) result_names[f.output(i)] = value_name(n.output(i), s);

  Scope inner{scope.graph, scope.taken, std::move(names), nullptr, scope.subgraph};
  read_nodes(inner, *f.mutable_node(), {opsets, &arguments, prefix, &result_names, s.depth + 1},
             "function '" + f.name() + "'");
  for (int i = 0; i < n.output_size(); i++) {
    if (n.output(i).empty()) continue;
    const ValueId v = lookup(inner, f.output(i));
    if (v == no_value)
      fail(Code::bad_model, what, ": the function does not compute its output '", f.output(i), "'");
    bind(scope, n.output(i), v, what);
  }
}

}  // namespace longshore::onnx
