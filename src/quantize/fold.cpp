#include "quantize/fold.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "base/error.hpp"
#include "ir/recode.hpp"
#include "quantize/select.hpp"
#include "tensor/quant.hpp"
#include "tensor/requantise.hpp"

namespace longshore {
namespace {

class Folder {
 public:
  explicit Folder(const Graph& g) : g_(g), uses_(use_counts(g)), users_(g.values.size(), -1) {
    for (std::size_t i = 0; i < g.nodes.size(); i++)
      for (ValueId v : g.nodes[i].inputs)
        if (v != no_value) users_[index(v)] = static_cast<int>(i);
  }

  Graph run() {
    out_ = g_;
    out_.nodes.clear();
    for (std::size_t i = 0; i < g_.nodes.size(); i++) {
      if (gone_.contains(i)) continue;
      const Node& n = g_.nodes[i];
      if (quantises(&n) && dequantises(g_.def(n.inputs[0])))
        requantise_node(n);
      else if (!fold(n))
        out_.nodes.push_back(n);
    }
    for (Node& n : out_.nodes)
      for (ValueId& v : n.inputs)
        while (v != no_value && alias_.contains(v)) v = alias_.at(v);
    sort_nodes(out_);
    return tidy(infer(out_));
  }

 private:
  bool recodes(const Node* n, bool from_codes, bool to_codes) const {
    return n && n->op->quant == Quant::recode && g_[n->inputs[0]].type.quantised() == from_codes &&
           g_[n->outputs[0]].type.quantised() == to_codes;
  }
  bool quantises(const Node* n) const { return recodes(n, false, true); }
  bool dequantises(const Node* n) const { return recodes(n, true, false); }

  /// The codes behind a Dequantize, or nothing.
  ValueId codes(ValueId v) const {
    const Node* def = v == no_value ? nullptr : g_.def(v);
    return def && dequantises(def) ? def->inputs[0] : no_value;
  }
  const Quantisation& scale_of(ValueId v) const { return g_[v].type.quant; }
  const Node* only_user(ValueId v) const {
    return uses_[index(v)] == 1 && users_[index(v)] >= 0
               ? &g_.nodes[static_cast<std::size_t>(users_[index(v)])]
               : nullptr;
  }
  std::size_t number(const Node& n) const { return static_cast<std::size_t>(&n - g_.nodes.data()); }

  /// Dequantize, then Quantize: the same codes, or Requantize.
  void requantise_node(const Node& n) {
    const ValueId from = codes(n.inputs[0]), to = n.outputs[0];
    const bool output = std::ranges::find(g_.outputs, to) != g_.outputs.end();
    if (scale_of(from) == scale_of(to) && g_[from].type.dtype == g_[to].type.dtype && !output) {
      alias_[to] = from;
      return;
    }
    Node r = n;
    r.op = &ops::op_longshore_requantize::definition;
    r.inputs = {from};
    out_.nodes.push_back(std::move(r));
  }

  /// The clamp that the node is, or nothing.
  std::optional<Activation> clamp(const Node* n) const {
    const std::optional<Activation> a = n ? activation_of(g_, *n) : std::nullopt;
    return a && a->kind == Activation::Kind::clamp ? a : std::nullopt;
  }

  /// What follows an output: perhaps a clamp, then a Quantize, nobody else.
  struct Tail {
    const Node *clamp = nullptr, *quantize = nullptr;
    Activation activation = {};  // of clamp
  };
  std::optional<Tail> tail(ValueId v) const {
    Tail t;
    const Node* next = only_user(v);
    if (const std::optional<Activation> a = clamp(next)) {
      t.clamp = next;
      t.activation = *a;
      next = only_user(next->outputs[0]);
    }
    if (!quantises(next)) return {};
    t.quantize = next;
    return t;
  }

  bool fold(const Node& n) {
    if (n.op->quant == Quant::none || n.op->quant == Quant::recode || n.outputs.empty())
      return false;
    Node folded = n;
    if (!integer_inputs(n, folded)) return false;
    std::vector<Tail> tails;
    for (ValueId v : n.outputs) {
      if (v == no_value) return false;
      const std::optional<Tail> t = tail(v);
      if (!t || (t->clamp && n.op->quant == Quant::same)) return false;
      if (g_[t->quantize->outputs[0]].type.quant.scale.size() != 1) return false;
      tails.push_back(*t);
    }
    std::vector<Node> after;
    for (std::size_t o = 0; o < tails.size(); o++) finish(n, tails[o], folded, o, after);
    for (const Tail& t : tails) {
      if (t.clamp) gone_.insert(number(*t.clamp));
      gone_.insert(number(*t.quantize));
    }
    out_.nodes.push_back(std::move(folded));
    for (Node& a : after) out_.nodes.push_back(std::move(a));
    return true;
  }

  /// Replaces dequantised inputs by their codes; false where one is no codes.
  bool integer_inputs(const Node& n, Node& folded) {
    const std::optional<std::size_t> slot = n.op->schema.weights();
    if (slot && n.input(*slot) != no_value) {
      const std::optional<std::size_t> data = n.op->schema.input_with(InputRole::data);
      const ValueId x = codes(n.inputs[*data]), w = codes(n.inputs[*slot]);
      if (x == no_value || w == no_value || scale_of(x).scale.size() != 1) return false;
      if (!beyond_integer(n).empty()) return false;
      if (scale_of(w).scale.size() > 1) {
        const int axis = g_[n.inputs[*slot]].type.ranked ? n.op->weight_axis({n, g_}) : -1;
        if (!scale_of(w).view().along(axis)) return false;
      }
      folded.inputs[*data] = x;
      folded.inputs[*slot] = w;
      const std::optional<std::size_t> bias_slot = n.op->schema.input_with(InputRole::bias);
      return !bias_slot || n.input(*bias_slot) == no_value || bias(n, *bias_slot, x, w, folded);
    }
    const std::vector<std::size_t> data = data_inputs(g_, n);
    if (data.empty()) return false;
    for (std::size_t k : data) {
      const ValueId c = codes(n.inputs[k]);
      if (c == no_value || scale_of(c).scale.size() != 1) return false;
      folded.inputs[k] = c;
    }
    return true;
  }

  /// A constant bias of codes; where its scale is not that of the products, its codes are made
  /// anew.
  bool bias(const Node& n, std::size_t slot, ValueId x, ValueId w, Node& folded) {
    const ValueId from = codes(n.inputs[slot]);
    const Tensor* codes_of_bias = g_.constant(from);
    if (!codes_of_bias || codes_of_bias->shape.rank != 1) return false;
    const Quantisation have = scale_of(from);
    Quantisation want;
    for (float s : scale_of(w).scale) want.scale.push_back(scale_of(x).scale[0] * s);
    want.zero_point.assign(want.scale.size(), 0);
    if (want.scale.size() > 1 &&
        static_cast<std::int64_t>(want.scale.size()) != codes_of_bias->elements())
      return false;
    std::vector<std::int32_t> made;
    for (std::int64_t i = 0; i < codes_of_bias->elements(); i++) {
      const auto h = static_cast<std::size_t>(have.scale.size() > 1 ? i : 0),
                 k = static_cast<std::size_t>(want.scale.size() > 1 ? i : 0);
      const double code =
          load_code(codes_of_bias->view(), i) - static_cast<double>(have.zero_point[h]);
      const double ratio = static_cast<double>(have.scale[h]) / static_cast<double>(want.scale[k]);
      const bool same = std::abs(ratio - 1) < 1e-5;  // the two products rounded differently
      const double exact = std::nearbyint(same ? code : code * ratio);
      if (std::abs(exact) > 2147483647.0) return false;
      made.push_back(static_cast<std::int32_t>(exact));
    }
    const ValueId v = out_.add_constant(
        g_[from].name, make_tensor<std::int32_t>(DType::i32, codes_of_bias->shape, made));
    out_[v].type.quant = std::move(want);
    folded.inputs[slot] = v;
    return true;
  }

  void finish(const Node& n, const Tail& t, Node& folded, std::size_t o, std::vector<Node>& after) {
    const ValueId to = t.quantize->outputs[0];
    const TensorType& type = g_[to].type;
    folded.outputs[o] = to;
    if (n.op->quant == Quant::same) {  // moves keep their scale; another one afterwards
      const TensorType& from = g_[codes(n.inputs[data_inputs(g_, n)[0]])].type;
      if (from.quant == type.quant && from.dtype == type.dtype) return;
      TensorType moved = type;
      moved.quant = from.quant;
      moved.dtype = from.dtype;
      folded.outputs[o] = out_.add_value(g_[to].name + "_moved", moved);
      Node r = *t.quantize;
      r.op = &ops::op_longshore_requantize::definition;
      r.inputs = {folded.outputs[o]};
      after.push_back(std::move(r));
      return;
    }
    const float scale = type.quant.scale[0];
    if (!t.clamp || t.activation.saturates(type.dtype, scale, type.quant.zero_point[0])) return;
    if (std::optional<Node> whole = fused_with(out_, folded, t.activation)) {
      folded = std::move(*whole);  // the bounds narrow the codes
      return;
    }
    // The clamp as a table on the same scale: codes beyond its bounds map to the bounds' codes.
    folded.outputs[o] = out_.add_value(g_[to].name + "_unclamped", type);
    Node clamp = *t.clamp;
    clamp.inputs[0] = folded.outputs[o];
    clamp.outputs = {to};
    after.push_back(std::move(clamp));
  }

  const Graph& g_;
  Graph out_;
  std::vector<int> uses_, users_;
  std::set<std::size_t> gone_;
  std::map<ValueId, ValueId> alias_;
};

}  // namespace

Graph fold_dequantised(const Graph& g) { return Folder(g).run(); }

}  // namespace longshore
