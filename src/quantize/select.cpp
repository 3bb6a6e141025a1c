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
    out_.precision.resize(g.nodes.size(), Precision::f32);
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
      able_[i] = out_.reasons[i].kind == FloatReason::Kind::none;
    }
    forward();
    backward();
    forward();
    for (std::size_t i = 0; i < g_.nodes.size(); i++) {
      if (out_.integer(i))
        out_.reasons[i] = {};
      else if (able_[i])
        out_.reasons[i] = {FloatReason::Kind::follows, "none of its inputs is quantised"};
    }
    return std::move(out_);
  }

 private:
  /// Why the node cannot become integer, or nothing.
  FloatReason obstacle(const Node& n) const {
    const OpDef& op = *n.op;
    if (excluded(g_, n, options_.exclude) || !is_integer(asked(n)))
      return {FloatReason::Kind::asked, "excluded by request",
              str("do not keep '", n.origin.name, "' float")};
    if (op.quant == Quant::none)
      return {FloatReason::Kind::no_form, "the operator has no integer form",
              integer_form_wanted(op)};
    const auto found = [&](std::string text, std::string change) {
      return FloatReason{FloatReason::Kind::found, std::move(text), std::move(change)};
    };
    const auto not_constant = [&](ValueId v, std::string_view what) {
      return found(str("its ", what, " not constant"), str("make '", g_[v].name, "' a constant"));
    };
    const auto not_f32 = [&](ValueId v, std::string_view what) {
      return found(str(what, name(g_[v].type.dtype), ", not f32"),
                   str("make '", g_[v].name, "' f32"));
    };
    if (n.inputs.empty() || n.outputs.empty())
      return found("it has no data", "let it compute on f32 data");
    if (const std::optional<std::size_t> slot = op.schema.weights()) {
      const Tensor* w = g_.constant(n.input(*slot));
      if (!w && op.schema.role(*slot) == InputRole::weights)
        return not_constant(n.input(*slot), "weights are");
      if (w && w->dtype != DType::f32) return not_f32(n.input(*slot), "its weights are ");
      if (const ValueId bias = input_with(n, InputRole::bias); bias != no_value && w) {
        const Tensor* b = g_.constant(bias);
        if (!b) return not_constant(bias, "bias is");
        if (b->shape.rank != 1)
          return found("its bias is not a vector", str("give '", g_[bias].name, "' one axis"));
      }
      if (const std::string_view why = beyond_integer(n); !why.empty())
        return found(std::string(why), str("move that out of '", n.origin.name, "'"));
    }
    if (const std::string_view wanted = optional_output(n);
        op.quant == Quant::integer && !wanted.empty())
      return found(str("its optional output ", wanted, " is used"),
                   str("compute ", wanted, " in nodes of its own"));
    const std::vector<std::size_t> data = data_inputs(g_, n);
    if (data.empty()) return found("it has no float input", "let it compute on f32 data");
    for (std::size_t i : data)
      if (g_[n.inputs[i]].type.dtype != DType::f32) return not_f32(n.inputs[i], "its input is ");
    for (ValueId v : n.outputs)
      if (v != no_value && g_[v].type.dtype != DType::f32) return not_f32(v, "its output is ");
    if (options_.float_final_probabilities && op.lowest < op.highest && op.quant != Quant::table &&
        last_[static_cast<std::size_t>(&n - g_.nodes.data())])
      return {FloatReason::Kind::last,
              "probabilities at the end of the model keep float's resolution",
              str("end the model before '", n.origin.name, "'")};
    return {};
  }

  /// The name of an optional output that somebody uses, or nothing.
  std::string_view optional_output(const Node& n) const {
    const auto& outputs = n.op->schema.outputs;
    for (std::size_t i = 0; i < n.outputs.size() && i < outputs.size(); i++)
      if (outputs[i].presence == Presence::optional && n.outputs[i] != no_value)
        return outputs[i].name;
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

  /// The precision that the options give the node, able or not.
  Precision asked(const Node& n) const {
    Precision out = options_.precision;
    for (const NodePrecision& p : options_.precisions)
      if (excluded(g_, n, {&p.node, 1})) out = p.precision;
    return out;
  }

  /// The precision of the node that computes v; f32 where that is float.
  Precision of_producer(ValueId v) const {
    const Node* def = g_.def(v);
    return def ? out_.precision[static_cast<std::size_t>(def - g_.nodes.data())] : Precision::f32;
  }

  /// Weighted nodes start; the others join where the data that they get is integer already. Moves
  /// keep the codes that they get.
  void forward() {
    for (std::size_t i = 0; i < g_.nodes.size(); i++) {
      if (!able_[i] || out_.integer(i)) continue;
      const Node& n = g_.nodes[i];
      const bool weighted = weights_of(g_, n) != no_value;
      for (std::size_t k : data_inputs(g_, n)) {
        const Precision p = of_producer(n.inputs[k]);
        if (!is_integer(p) && !weighted) continue;
        out_.precision[i] = n.op->quant == Quant::same ? p : asked(n);
        break;
      }
    }
  }

  /// A move whose every user computes in the same integers is done on codes: fewer bytes, one
  /// Quantize before it, or one for each part of a join.
  void backward() {
    for (std::size_t i = g_.nodes.size(); i-- > 0;) {
      const Node& n = g_.nodes[i];
      if (!able_[i] || out_.integer(i) ||
          (n.op->quant != Quant::same && n.op->quant != Quant::join))
        continue;
      std::optional<Precision> users;
      bool all = true;
      for (ValueId v : n.outputs) {
        if (v == no_value) continue;
        for (std::size_t u : users_[index(v)]) {
          if (!users) users = out_.precision[u];
          all = all && out_.integer(u) && out_.activations(u) == types_of(*users).activations;
        }
        all = all && std::ranges::find(g_.outputs, v) == g_.outputs.end();
      }
      if (users && all) out_.precision[i] = *users;
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

std::vector<std::size_t> data_inputs(const Graph& g, const Node& n) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < n.inputs.size(); i++) {
    const InputRole role = n.op->schema.role(i);
    const bool data =
        role == InputRole::data || (role == InputRole::weights_or_data && !g.constant(n.inputs[i]));
    if (data && n.inputs[i] != no_value) out.push_back(i);
  }
  return out;
}

std::string_view beyond_integer(const Node& n) {
  if (input_with(n, InputRole::residual) != no_value) return "it has a fused residual";
  if (n.attributes.integer("transA", 0) != 0) return "its input is transposed";
  if (n.attributes.real("alpha", 1) != 1) return "its factor alpha is not 1";
  if (n.attributes.real("beta", 1) != 1) return "its factor beta is not 1";
  return {};
}

Selection select_nodes(const Graph& g, const SelectOptions& options) {
  return Selector(g, options).run();
}

}  // namespace longshore
