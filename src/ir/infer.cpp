#include "ir/infer.hpp"

#include <algorithm>
#include <unordered_map>

#include "base/error.hpp"
#include "ir/op.hpp"

namespace longshore {
namespace {

/// Elements of values that are no constants of the graph but follow from dims and constants.
using Known = std::unordered_map<std::uint32_t, Tensor>;

/// Larger tensors are not followed: shape arithmetic is small.
constexpr std::int64_t known_elements_limit = 4096;

void infer_all(Graph&, Known&);

class NodeInference final : public InferContext {
 public:
  NodeInference(Graph& g, std::size_t node, Known& known) : g_(g), at_(node), known_(known) {
    for (ValueId v : this->node().outputs) old_.push_back(v == no_value ? TensorType{} : g[v].type);
  }

  const Node& node() const override { return g_.nodes[at_]; }
  TensorType input(std::size_t i) const override {
    const ValueId v = node().input(i);
    return v == no_value ? TensorType{} : logical(g_[v].type);
  }
  const Tensor* constant(std::size_t i) const override {
    const ValueId v = node().input(i);
    return v == no_value ? nullptr : elements_of(v);
  }
  const Tensor* elements_of(ValueId v) const {
    if (const Tensor* t = g_.constant(v)) return t;
    const auto it = known_.find(static_cast<std::uint32_t>(v));
    return it == known_.end() ? nullptr : &it->second;
  }
  void output(std::size_t i, TensorType type) override {
    const ValueId v = node().output(i);
    if (v == no_value) return;
    if (!type.ranked) type.dims.clear();
    if (old_[i].quantised()) {  // the representation is the graph's choice; dims are inferred
      type.dtype = old_[i].dtype;
      type.quant = old_[i].quant;
    }
    g_[v].type = std::move(type);
  }
  void value(std::size_t i, Tensor elements) override {
    const ValueId v = node().output(i);
    if (v != no_value) known_[static_cast<std::uint32_t>(v)] = std::move(elements);
  }

  std::vector<TensorType> infer_subgraph(std::string_view name,
                                         std::span<const TensorType> inputs) override {
    for (Subgraph& s : g_.nodes[at_].subgraphs) {
      if (s.name != name) continue;
      Known inner;
      const Graph before = s.body;
      for (std::size_t k = 0; k < s.captures.size(); k++) {
        s.body[s.body.captured[k]].type = g_[s.captures[k]].type;
        if (const Tensor* t = elements_of(s.captures[k]);
            t && t->elements() <= known_elements_limit)
          inner[static_cast<std::uint32_t>(s.body.captured[k])] = *t;
      }
      if (inputs.size() != s.body.inputs.size())
        fail(str("its subgraph ", name, " takes ", s.body.inputs.size(), " inputs, not ",
                 inputs.size()));
      for (std::size_t k = 0; k < inputs.size(); k++) s.body[s.body.inputs[k]].type = inputs[k];
      try {
        infer_all(s.body, inner);
      } catch (const Error&) {  // types of half a body would contradict each other
        s.body = before;
        throw;
      }
      std::vector<TensorType> out;
      for (ValueId v : s.body.outputs) out.push_back(s.body[v].type);
      return out;
    }
    fail(str("it has no subgraph ", name));
  }

  void run() {
    const OpDef& op = *node().op;
    check_schema(op);
    for (std::size_t i = 0; i < node().outputs.size(); i++) {
      const ValueId v = node().outputs[i];
      if (v != no_value && !old_[i].quantised())
        g_[v].type = TensorType::unranked(DType::undefined);
    }
    if (op.infer) op.infer(*this);
  }

  /// Runs the operator itself where all its inputs are known and small.
  void follow() {
    const OpDef& op = *node().op;
    if (!op.eval || !op.deterministic || !node().subgraphs.empty()) return;
    std::vector<Tensor> in;
    for (std::size_t i = 0; i < node().inputs.size(); i++) {
      if (!has(i)) {
        in.emplace_back();
        continue;
      }
      const Tensor* t = constant(i);
      if (!t || t->elements() > known_elements_limit || g_[node().inputs[i]].type.quantised())
        return;
      in.push_back(*t);
    }
    for (ValueId v : node().outputs) {
      if (v == no_value) continue;
      const TensorType& t = g_[v].type;
      const std::optional<Shape> shape = t.shape();
      if (t.quantised() || t.dtype == DType::undefined || !shape ||
          checked_elements(*shape, known_elements_limit) < 0)
        return;
    }
    try {
      const std::vector<Tensor> out = evaluate_node(g_, node(), in);
      for (std::size_t i = 0; i < out.size(); i++)
        if (out[i].present()) value(i, out[i]);
    } catch (const Error& e) {
      if (e.code() == Code::internal) throw;  // others show themselves when the graph runs
    }
  }

 private:
  static TensorType logical(const TensorType& t) {
    TensorType out = t;
    if (t.quantised()) {
      out.dtype = DType::f32;
      out.quant = {};
    }
    return out;
  }

  static const Parameter& parameter(const List<Parameter, 16>& list, std::size_t i) {
    return list[std::min(i, list.size() - 1)];
  }
  static std::size_t most(const List<Parameter, 16>& list) {
    return !list.empty() && list[list.size() - 1].presence == Presence::variadic ? SIZE_MAX
                                                                                 : list.size();
  }
  static std::size_t least(const List<Parameter, 16>& list) {
    std::size_t n = 0;
    for (std::size_t i = 0; i < list.size(); i++)
      if (list[i].presence == Presence::required) n = i + 1;
    return n;
  }

  void check_schema(const OpDef& op) const {
    const Schema& s = op.schema;
    const auto count = [&](const char* what, std::size_t found, const auto& list) {
      const std::size_t low = least(list), high = most(list);
      if (found < low || found > high)
        fail(str("it takes ", low == high ? "" : "at least ", low,
                 high == low || high == SIZE_MAX ? "" : str(" and at most ", high), " ", what,
                 "s, not ", found));
    };
    count("input", node().inputs.size(), s.inputs);
    if (node().outputs.size() > most(s.outputs))
      fail(str("it has at most ", s.outputs.size(), " outputs, not ", node().outputs.size()));
    std::map<std::string_view, std::pair<std::string_view, DType>> bound;
    for (std::size_t i = 0; i < node().inputs.size(); i++) {
      const Parameter& p = parameter(s.inputs, i);
      if (!has(i)) {
        if (p.presence == Presence::required) fail(str("its input '", p.name, "' is missing"));
        continue;
      }
      const DType t = input(i).dtype;
      if (t == DType::undefined) continue;
      if (!p.types.has(t)) fail(str("its input '", p.name, "' cannot be of type ", name(t)));
      if (p.variable.empty()) continue;
      const auto [it, fresh] = bound.try_emplace(p.variable, p.name, t);
      if (!fresh && it->second.second != t)
        fail(str("its inputs '", it->second.first, "' and '", p.name, "' must have one type, not ",
                 name(it->second.second), " and ", name(t)));
    }
    for (const AttributeSpec& a : s.attributes) {
      if (!a.required) continue;
      const bool is_graph = a.kind == AttributeKind::graph;
      const bool there = is_graph ? std::any_of(node().subgraphs.begin(), node().subgraphs.end(),
                                                [&](const Subgraph& g) { return g.name == a.name; })
                                  : node().attributes.has(a.name);
      if (!there) fail(str("its attribute '", a.name, "' is missing"));
    }
  }

  Graph& g_;
  std::size_t at_;
  Known& known_;
  std::vector<TensorType> old_;
};

void infer_all(Graph& g, Known& known) {
  for (std::size_t i = 0; i < g.nodes.size(); i++) {
    NodeInference inference(g, i, known);
    inference.run();
    inference.follow();
  }
}

void specialise(Graph& g, const InferOptions& options) {
  const auto apply = [&](TensorType& t) {
    for (Dim& d : t.dims)
      if (auto it = options.dims.find(d.symbol); !d.known() && it != options.dims.end())
        d = Dim(it->second);
  };
  for (Value& v : g.values) apply(v.type);
  for (Node& n : g.nodes)
    for (Subgraph& s : n.subgraphs) specialise(s.body, options);
}

ValueId input_named(const Graph& g, std::string_view wanted) {
  std::string names;
  for (ValueId v : g.inputs) {
    if (g[v].name == wanted) return v;
    names += str(names.empty() ? "'" : ", '", g[v].name, "'");
  }
  fail(Code::bad_argument, "the model has no input '", wanted, "'; its inputs are ", names);
}

}  // namespace

void InferContext::fail(const std::string& what) const {
  longshore::fail(Code::bad_model, "node ", describe(node()), ": ", what);
}

std::optional<Ints> InferContext::integers(std::size_t i) const {
  const Tensor* t = constant(i);
  if (!t) return {};
  Ints out;
  if (t->dtype == DType::i64)
    for (std::int64_t x : t->values<std::int64_t>()) out.push_back(x);
  else if (t->dtype == DType::i32)
    for (std::int32_t x : t->values<std::int32_t>()) out.push_back(x);
  else
    return {};
  return out;
}

void infer_node(Graph& g, std::size_t node) {
  Known none;
  NodeInference(g, node, none).run();
}

Graph infer(const Graph& from, const InferOptions& options) {
  Graph g = from;
  specialise(g, options);
  for (const auto& [name, shape] : options.input_shapes) {
    TensorType& t = g[input_named(g, name)].type;
    if (t.ranked && t.rank() != shape.rank)
      fail(Code::bad_argument, "input '", name, "' has rank ", t.rank(), ", not ", shape.rank);
    if (!t.ranked) t.dims.resize(static_cast<std::size_t>(shape.rank)), t.ranked = true;
    for (int i = 0; i < shape.rank; i++) {
      Dim& d = t.dims[static_cast<std::size_t>(i)];
      if (d.known() && d.value != shape[i])
        fail(Code::bad_argument, "input '", name, "': dimension ", i, " is ", d.value, ", not ",
             shape[i]);
      d = Dim(shape[i]);
    }
  }
  for (const auto& [name, tensor] : options.input_values) {
    const ValueId v = input_named(g, name);
    if (g[v].type.dtype != tensor.dtype)
      fail(Code::bad_argument, "input '", name, "' is ", longshore::name(g[v].type.dtype), ", not ",
           longshore::name(tensor.dtype));
    const auto place =
        static_cast<std::uint32_t>(std::ranges::find(g.inputs, v) - g.inputs.begin());
    g.inputs.erase(g.inputs.begin() + place);
    std::erase_if(g.states, [&](const StateSlot& s) { return s.input == place; });
    for (StateSlot& s : g.states) s.input -= s.input > place ? 1 : 0;
    g[v].constant = tensor;
    g[v].type = TensorType(tensor.dtype, tensor.shape);
  }
  Known known;
  infer_all(g, known);
  return g;
}

std::map<ValueId, Tensor> known_elements(const Graph& from) {
  Graph g = from;
  Known known;
  infer_all(g, known);
  std::map<ValueId, Tensor> out;
  for (auto& [v, tensor] : known) out.emplace(ValueId(v), std::move(tensor));
  return out;
}

}  // namespace longshore
