#include "measure/compare.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "tensor/quant.hpp"

namespace longshore {
namespace {

bool is_float(DType t) { return (type_set::float_types | type_set::float8_types).has(t); }

/// How near a kernel must come. Sums of products that cancel are as far off as their terms are
/// large, for which the largest sum stands.
Bound float_bound(const OpDef& op) {
  Bound b{.exact = false, .rtol = op.float_rtol, .atol = op.float_atol};
  if (op.macs) b.of_largest = b.rtol / 20;
  return b;
}

}  // namespace

Comparison::Comparison(Graph reference, Strictness strictness)
    : reference_(std::move(reference)), strictness_(strictness) {
  for (std::size_t n = 0; n < reference_.nodes.size(); n++)
    for (std::size_t o = 0; o < reference_.nodes[n].outputs.size(); o++)
      if (reference_.nodes[n].outputs[o] != no_value)
        made_by_[reference_.nodes[n].outputs[o]] = {n, o};
}

LayerDifference& Comparison::layer(std::size_t node, std::size_t output) {
  const auto [it, fresh] = layers_.try_emplace({node, output});
  LayerDifference& l = it->second;
  if (!fresh) return l;
  const Node& n = reference_.nodes[node];
  const Value& v = reference_[n.outputs[output]];
  l.node = n.origin.name;
  l.op = qualified_name(*n.op);
  l.value = v.name;
  l.position = node;
  l.type = v.type;
  if (!is_float(v.type.dtype) || strictness_ == Strictness::bytes) return l;
  l.bound.exact = false;
  // A node with subgraphs is a run of its own.
  if (strictness_ == Strictness::outputs || !n.subgraphs.empty())
    l.bound.of_largest = 1e-4;
  else
    l.bound = float_bound(*n.op);
  return l;
}

std::vector<Tensor> Comparison::add_entire(std::span<const Tensor> inputs, const Values& got) {
  EvaluateOptions options;
  options.observe = [&](ValueId v, const TensorView& want) {
    const auto it = got.find(reference_[v].name);
    if (it == got.end()) {
      empty_.try_emplace(v, true).first->second &= want.elements() == 0;
      return;
    }
    const auto [node, output] = made_by_.at(v);
    LayerDifference& l = layer(node, output);
    l.difference.add(it->second.view(), want, l.bound, samples_);
    times_[made_by_.at(v)]++;
  };
  std::vector<Tensor> outputs = evaluate(reference_, inputs, options);
  samples_++;
  return outputs;
}

void Comparison::add_single(std::span<const Tensor> inputs, const RunNode& run) {
  single_ = true;
  std::map<ValueId, Tensor> values;
  for (std::size_t i = 0; i < inputs.size() && i < reference_.inputs.size(); i++)
    values[reference_.inputs[i]] = inputs[i];
  EvaluateOptions options;
  options.observe = [&](ValueId v, const TensorView& view) { values[v] = copy_tensor(view); };
  evaluate(reference_, inputs, options);
  for (std::size_t n = 0; n < reference_.nodes.size(); n++) {
    const Node& node = reference_.nodes[n];
    if (!node.op->deterministic) continue;
    std::vector<ValueId> outer;
    const Graph alone = single_node(reference_, node, outer);
    std::vector<Tensor> in;
    for (ValueId v : outer) in.push_back(values.at(v));
    const std::vector<Tensor> got = run(alone, in);
    std::size_t at = 0;
    for (std::size_t o = 0; o < node.outputs.size(); o++) {
      if (node.outputs[o] == no_value) continue;
      check(at < got.size(), "the other side gave too few outputs");
      LayerDifference& l = layer(n, o);
      l.difference.add(got[at++].view(), values.at(node.outputs[o]).view(), l.bound, samples_);
      times_[{n, o}]++;
    }
  }
  samples_++;
}

std::vector<LayerDifference> Comparison::layers() const {
  std::vector<LayerDifference> out;
  for (const auto& [key, l] : layers_) out.push_back(l);
  return out;
}

std::vector<NotCompared> Comparison::missing() const {
  std::vector<NotCompared> out;
  for (std::size_t n = 0; n < reference_.nodes.size(); n++) {
    const Node& node = reference_.nodes[n];
    for (std::size_t o = 0; o < node.outputs.size(); o++) {
      const ValueId v = node.outputs[o];
      const auto times = times_.find({n, o});
      if (v == no_value || (times != times_.end() && times->second == samples_)) continue;
      const auto empty = empty_.find(v);
      out.push_back(
          {reference_[v].name, single_ && !node.op->deterministic       ? "it is drawn at random"
                               : empty != empty_.end() && empty->second ? "it has no elements"
                                                                        : ""});
    }
  }
  return out;
}

Values reference_values(const Graph& g, std::span<const Tensor> inputs) {
  Values out;
  EvaluateOptions options;
  options.observe = [&](ValueId v, const TensorView& view) { out[g[v].name] = copy_tensor(view); };
  evaluate(g, inputs, options);
  return out;
}

Graph single_node(const Graph& g, const Node& node, std::vector<ValueId>& inputs) {
  Graph out;
  out.numbers = g.numbers;
  inputs.clear();
  std::map<ValueId, ValueId> inner;
  const auto enter = [&](ValueId v) {
    if (v == no_value) return v;
    const auto [it, fresh] = inner.try_emplace(v, no_value);
    if (!fresh) return it->second;
    if (g.constant(v)) {
      it->second = out.add_constant(g[v].name, g[v].constant);
      out[it->second].type = g[v].type;
    } else {
      it->second = out.add_input(g[v].name, g[v].type);
      inputs.push_back(v);
    }
    return it->second;
  };
  Node copy = node;
  for (ValueId& v : copy.inputs) v = enter(v);
  for (Subgraph& s : copy.subgraphs)
    for (ValueId& v : s.captures) v = enter(v);
  for (ValueId& v : copy.outputs) {
    if (v == no_value) continue;
    v = out.add_value(g[v].name, g[v].type);
    out.outputs.push_back(v);
  }
  out.add_node(std::move(copy), 0);
  return out;
}

namespace {

/// For each value the node that alone uses it, or null.
std::vector<const Node*> only_users(const Graph& g) {
  const std::vector<int> uses = use_counts(g);
  std::vector<const Node*> out(g.values.size());
  for (const Node& n : g.nodes)
    for (ValueId v : n.inputs)
      if (v != no_value && uses[index(v)] == 1) out[index(v)] = &n;
  return out;
}

/// The value of the float graph that a value of the quantised graph stands for.
std::optional<ValueId> float_value(const Graph& f, const std::vector<const Node*>& only_user,
                                   const std::map<std::string, ValueId, std::less<>>& by_name,
                                   const std::map<std::string, ValueId, std::less<>>& quantised,
                                   std::string_view name) {
  auto it = by_name.find(name);
  if (it == by_name.end() && name.ends_with("_q"))
    it = by_name.find(name.substr(0, name.size() - 2));
  if (it == by_name.end()) return {};
  ValueId v = it->second;
  // A clamp that became part of the node before it has left no value of its own.
  for (;;) {
    const Node* only = only_user[index(v)];
    if (!only || only->op->quant != Quant::table || only->inputs[0] != v) return v;
    const std::string& next = f[only->outputs[0]].name;
    if (quantised.contains(next) || quantised.contains(next + "_q")) return v;
    v = only->outputs[0];
  }
}

std::map<std::string, ValueId, std::less<>> names_of(const Graph& g) {
  std::map<std::string, ValueId, std::less<>> out;
  for (const Node& n : g.nodes)
    for (ValueId v : n.outputs)
      if (v != no_value) out[g[v].name] = v;
  return out;
}

}  // namespace

std::vector<LayerDifference> compare_precision(const Graph& f, const Graph& q,
                                               std::span<const std::vector<Tensor>> samples) {
  const auto float_names = names_of(f), quantised_names = names_of(q);
  const std::vector<const Node*> float_users = only_users(f);
  std::map<ValueId, std::string> partner;  // of a quantised value: the float value's name
  std::map<ValueId, LayerDifference> layers;
  for (std::size_t i = 0; i < q.nodes.size(); i++) {
    const Node& n = q.nodes[i];
    for (ValueId v : n.outputs) {
      if (v == no_value || n.op->quant == Quant::recode) continue;
      const std::optional<ValueId> p =
          float_value(f, float_users, float_names, quantised_names, q[v].name);
      if (!p || !is_float(f[*p].type.dtype)) continue;
      partner[v] = f[*p].name;
      LayerDifference& l = layers[v];
      l.node = n.origin.name;
      l.op = qualified_name(*n.op);
      l.value = q[v].name;
      l.position = i;
      l.type = q[v].type;
      l.bound.exact = false;
    }
  }
  std::size_t sample = 0;
  for (const std::vector<Tensor>& inputs : samples) {
    const Values want = reference_values(f, inputs);
    EvaluateOptions options;
    options.observe = [&](ValueId v, const TensorView& view) {
      const auto it = partner.find(v);
      if (it == partner.end()) return;
      const Tensor& w = want.at(it->second);
      LayerDifference& l = layers.at(v);
      if (view.quant.count == 0) return l.difference.add(view, w.view(), l.bound, sample);
      std::vector<float> numbers(static_cast<std::size_t>(view.elements()));
      const MutableView to{DType::f32, view.shape, numbers.data(), {}};
      require(dequantise_tensor(view, to), q[v].name);
      l.difference.add(to, w.view(), l.bound, sample);
    };
    evaluate(q, inputs, options);
    sample++;
  }
  std::vector<LayerDifference> out;
  for (auto& [v, l] : layers) out.push_back(std::move(l));
  std::ranges::stable_sort(out, {}, &LayerDifference::position);
  return out;
}

Totals total(std::span<const LayerDifference> layers) {
  Totals t;
  for (const LayerDifference& l : layers) {
    t.layers++;
    t.bytes += l.difference.bytes;
    t.different_bytes += l.difference.different_bytes;
    if (l.difference.equal()) continue;
    t.different_layers++;
    if (!t.first) t.first = &l;
  }
  return t;
}

std::string describe(const LayerDifference& l) {
  const std::string where = str("node '", l.node, "' (", l.op, "): value '", l.value, "'");
  const Difference& d = l.difference;
  if (!d.mismatch.empty()) return str(where, ": ", d.mismatch);
  if (!d.first) return str(where, ": equal");
  return str(where, " at ", print(d.first->at), ", sample ", d.first->sample, ": got ",
             d.first->got, ", want ", d.first->want, " (", d.different, " of ", d.elements,
             " elements differ)");
}

}  // namespace longshore
