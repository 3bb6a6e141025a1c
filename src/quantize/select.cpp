#include "quantize/select.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "ir/op.hpp"

namespace longshore {
namespace {

class Selector {
 public:
  Selector(const Graph& g, const SelectOptions& options)
      : g_(g),
        options_(options),
        users_(g.values.size()),
        able_(g.nodes.size()),
        last_(g.nodes.size()) {
    out_.quantised.resize(g.nodes.size());
    out_.reasons.resize(g.nodes.size());
    for (std::size_t i = 0; i < g.nodes.size(); i++) {
      for (ValueId v : g.nodes[i].inputs)
        if (v != no_value) users_[index(v)].push_back(i);
      for (const Subgraph& s : g.nodes[i].subgraphs)
        for (ValueId v : s.captures) users_[index(v)].push_back(i);
    }
    for (std::size_t i = g.nodes.size(); i-- > 0;) last_[i] = only_reaches_outputs(g.nodes[i]);
  }

  Selection run() {
    for (std::size_t i = 0; i < g_.nodes.size(); i++) {
      out_.reasons[i] = obstacle(g_.nodes[i]);
      able_[i] = out_.reasons[i].empty();
    }
    forward();
    backward();
    forward();
    for (std::size_t i = 0; i < g_.nodes.size(); i++) {
      if (out_.quantised[i])
        out_.reasons[i].clear();
      else if (able_[i])
        out_.reasons[i] = "none of its inputs is quantised";
    }
    return std::move(out_);
  }

 private:
  /// Why the node cannot become integer, or nothing.
  std::string obstacle(const Node& n) const {
    const OpDef& op = *n.op;
    if (excluded(g_, n, options_.exclude)) return "excluded by request";
    if (op.quant == Quant::none) return "the operator has no integer form";
    if (n.inputs.empty() || n.outputs.empty()) return "it has no data";
    if (op.weight_axis) {
      const Tensor* w = g_.constant(n.input(1));
      const bool bias_slot = op.schema.inputs.size() > 2;
      if (!w && bias_slot) return "its weights are not constant";
      if (w && w->dtype != DType::f32) return str("its weights are ", name(w->dtype), ", not f32");
      if (n.input(2) != no_value && w) {
        const Tensor* b = g_.constant(n.input(2));
        if (!b) return "its bias is not constant";
        if (b->shape.rank != 1) return "its bias is not a vector";
      }
      if (n.input(3) != no_value) return "it has a fused residual";
      if (n.attributes.integer("transA", 0) != 0) return "its input is transposed";
      if (w && n.attributes.real("alpha", 1) != 1 && op.schema.inputs.size() > 2 &&
          n.attributes.has("transB"))
        return "its factor alpha is not 1";
    }
    const std::vector<std::size_t> data = data_inputs(g_, n);
    if (data.empty()) return "it has no float input";
    for (std::size_t i : data)
      if (const DType t = g_[n.inputs[i]].type.dtype; t != DType::f32)
        return str("its input is ", name(t), ", not f32");
    for (ValueId v : n.outputs)
      if (v != no_value && g_[v].type.dtype != DType::f32)
        return str("its output is ", name(g_[v].type.dtype), ", not f32");
    if (options_.float_final_probabilities && op.lowest < op.highest && op.form != Form::table &&
        last_[static_cast<std::size_t>(&n - g_.nodes.data())])
      return "probabilities at the end of the model keep float's resolution";
    return {};
  }

  /// Of a node whose users are known already.
  bool only_reaches_outputs(const Node& n) const {
    for (ValueId v : n.outputs) {
      if (v == no_value) continue;
      for (std::size_t u : users_[index(v)])
        if (g_.nodes[u].op->quant != Quant::same || !last_[u]) return false;
    }
    return true;
  }

  bool from_quantised(ValueId v) const {
    const Node* def = g_.def(v);
    return def && out_.quantised[static_cast<std::size_t>(def - g_.nodes.data())];
  }

  /// Weighted nodes start; the others join where the data that they get is quantised already.
  void forward() {
    for (std::size_t i = 0; i < g_.nodes.size(); i++) {
      if (!able_[i] || out_.quantised[i]) continue;
      const Node& n = g_.nodes[i];
      const std::vector<std::size_t> data = data_inputs(g_, n);
      out_.quantised[i] = is_weighted(g_, n) ||
                          std::any_of(data.begin(), data.end(),
                                      [&](std::size_t k) { return from_quantised(n.inputs[k]); });
    }
  }

  /// A move whose every user is quantised is done on codes: fewer bytes, one Quantize before it.
  void backward() {
    for (std::size_t i = g_.nodes.size(); i-- > 0;) {
      const Node& n = g_.nodes[i];
      if (!able_[i] || n.op->quant != Quant::same) continue;
      bool used = false, all = true;
      for (ValueId v : n.outputs) {
        if (v == no_value) continue;
        for (std::size_t u : users_[index(v)]) used = true, all = all && out_.quantised[u];
        all = all && std::ranges::find(g_.outputs, v) == g_.outputs.end();
      }
      if (used && all) out_.quantised[i] = true;
    }
  }

  const Graph& g_;
  const SelectOptions& options_;
  std::vector<std::vector<std::size_t>> users_;
  std::vector<bool> able_;
  std::vector<bool> last_;  // only moves lie between the node and outputs of the graph
  Selection out_;
};

}  // namespace

bool excluded(const Graph& g, const Node& n, std::span<const std::string> exclude) {
  return std::any_of(exclude.begin(), exclude.end(), [&](const std::string& e) {
    return e == n.origin.name || e == n.op->name || e == qualified_name(*n.op) ||
           std::any_of(n.outputs.begin(), n.outputs.end(),
                       [&](ValueId v) { return v != no_value && g[v].name == e; });
  });
}

bool is_weighted(const Graph& g, const Node& n) {
  return n.op->weight_axis && g.constant(n.input(1));
}

std::vector<std::size_t> data_inputs(const Graph& g, const Node& n) {
  const OpDef& op = *n.op;
  if (is_weighted(g, n) || op.quant == Quant::table) return {0};
  const List<Parameter, 16>& in = op.schema.inputs;
  if (in.empty() || op.schema.outputs.empty()) return {};
  const bool variadic = in[in.size() - 1].presence == Presence::variadic;
  if (op.quant == Quant::same && !variadic) return {0};
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < n.inputs.size(); i++) {
    const Parameter& p = in[std::min(i, in.size() - 1)];
    const bool data = p.variable.empty() ? i == 0 : p.variable == op.schema.outputs[0].variable;
    if (data && n.inputs[i] != no_value) out.push_back(i);
  }
  return out;
}

Selection select_nodes(const Graph& g, const SelectOptions& options) {
  return Selector(g, options).run();
}

}  // namespace longshore
