#include "quantize/import.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/error.hpp"
#include "ir/op.hpp"
#include "quantize/fold.hpp"
#include "quantize/signed_codes.hpp"
#include "tensor/quant.hpp"

namespace longshore {
namespace {

constexpr Types code_types = types(DType::i8, DType::u8, DType::i16, DType::u16);

/// First half: QuantizeLinear, DequantizeLinear and the QLinear operators become Quantize,
/// Dequantize and operators on quantised types, wherever all that touch a value agree on its scale.
class Importer {
 public:
  explicit Importer(const Graph& g) : g_(g), foldable_(g.nodes.size()), group_(g.values.size()) {}

  Graph run() {
    collect();
    if (ends_.empty()) return g_;
    while (drop_disagreements()) {
    }
    return build();
  }

 private:
  /// A place where a node states the scale of a value of codes.
  struct End {
    std::size_t node;
    ValueId codes;
    Quantisation q;
  };

  std::optional<Quantisation> stated(ValueId scale, ValueId zero, ValueId codes, int axis) const {
    const Tensor *s = g_.constant(scale), *z = g_.constant(zero);
    if (!s || s->dtype != DType::f32 || s->shape.rank > 1 || (zero != no_value && !z)) return {};
    Quantisation q;
    q.scale.assign(s->values<float>().begin(), s->values<float>().end());
    q.zero_point.assign(q.scale.size(), 0);
    if (q.scale.empty() ||
        std::ranges::any_of(q.scale, [](float x) { return !(x > 0) || x > 1e30f; }))
      return {};
    if (z) {
      const bool known = code_types.has(z->dtype) || z->dtype == DType::i32;
      if (!known || (z->elements() != 1 && z->elements() != s->elements())) return {};
      for (std::size_t i = 0; i < q.scale.size(); i++)
        q.zero_point[i] =
            load_code(z->view(), z->elements() == 1 ? 0 : static_cast<std::int64_t>(i));
    }
    if (q.scale.size() > 1) {
      const TensorType& t = g_[codes].type;
      const int resolved = t.ranked ? resolve_axis(axis, t.rank()) : -1;
      if (!g_.constant(codes) || resolved < 0) return {};
      q.axis = resolved;
      if (t.dims[static_cast<std::size_t>(resolved)] !=
          Dim(static_cast<std::int64_t>(q.scale.size())))
        return {};
    }
    return q;
  }

  bool end(std::size_t node, ValueId codes, std::optional<Quantisation> q) {
    const DType t = g_[codes].type.dtype;
    const bool bias = g_.constant(codes) && t == DType::i32;
    if (!q || (!code_types.has(t) && !bias)) return false;
    ends_.push_back({node, codes, std::move(*q)});
    return true;
  }

  /// An input of codes (or of floats) with the inputs that hold its scale and zero point.
  struct Operand {
    std::size_t codes = 0;
    ValueId scale = no_value, zero_point = no_value;
  };
  /// What an operator with explicit scales says of its inputs and its output.
  struct Operands {
    std::vector<Operand> inputs;
    ValueId output_scale = no_value, output_zero_point = no_value, bias = no_value;
  };
  static Operands operands(const Node& n) {
    Operands out;
    for (std::size_t i = 0; i < n.inputs.size(); i++) {
      const ValueId v = n.inputs[i];
      switch (n.op->schema.role(i)) {
        case InputRole::data:
        case InputRole::weights:
        case InputRole::weights_or_data:
          out.inputs.push_back({i, no_value, no_value});
          break;
        case InputRole::scale:
          out.inputs.back().scale = v;
          break;
        case InputRole::zero_point:
          out.inputs.back().zero_point = v;
          break;
        case InputRole::output_scale:
          out.output_scale = v;
          break;
        case InputRole::output_zero_point:
          out.output_zero_point = v;
          break;
        case InputRole::bias:
          out.bias = v;
          break;
        case InputRole::residual:
        case InputRole::bound:
        case InputRole::parameter:
          break;
      }
    }
    return out;
  }

  void collect() {
    for (std::size_t i = 0; i < g_.values.size(); i++) group_[i] = ValueId(i);
    for (std::size_t i = 0; i < g_.nodes.size(); i++) {
      const Node& n = g_.nodes[i];
      foldable_[i] = !n.op->on_codes.empty() && explicit_scales(i);
      if (n.op->on_codes.empty() && is_move(n))
        for (ValueId v : n.outputs)
          if (v != no_value) unite(n.inputs[0], v);
    }
  }

  /// Notes the scales that node i states; false where it cannot be brought over.
  bool explicit_scales(std::size_t i) {
    const Node& n = g_.nodes[i];
    const std::int64_t precision = n.attributes.integer("precision", 0);
    if (n.attributes.integer("block_size", 0) != 0 ||
        (precision != 0 && precision != static_cast<std::int64_t>(DType::f32)))
      return false;
    const Operands o = operands(n);
    if (o.bias != no_value && !g_.constant(o.bias)) return false;
    for (const Operand& in : o.inputs) {
      const bool weights = n.op->schema.role(in.codes) == InputRole::weights;
      if (weights && !g_.constant(n.inputs[in.codes])) return false;
      if (in.scale == no_value && g_[n.inputs[in.codes]].type.dtype != DType::f32) return false;
    }
    if (o.output_scale == no_value && g_[n.outputs[0]].type.dtype != DType::f32) return false;
    bool all = true;
    for (const Operand& in : o.inputs) {
      if (in.scale == no_value) continue;
      const int axis = n.op->schema.role(in.codes) == InputRole::data ? axis_of(n) : weight_axis(n);
      all = end(i, n.inputs[in.codes], stated(in.scale, in.zero_point, n.inputs[in.codes], axis)) &&
            all;
    }
    if (o.output_scale != no_value)
      all = end(i, n.outputs[0],
                stated(o.output_scale, o.output_zero_point, n.outputs[0], axis_of(n))) &&
            all;
    return all;
  }
  static int axis_of(const Node& n) { return static_cast<int>(n.attributes.integer("axis", 1)); }
  int weight_axis(const Node& n) const {
    return n.op->weight_axis ? n.op->weight_axis({n, g_}) : axis_of(n);
  }

  /// A move of codes without a scale of its own: it has that of its neighbours.
  bool is_move(const Node& n) const {
    for (std::size_t k = 1; k < n.inputs.size(); k++)  // such as a code to pad with
      if (n.inputs[k] != no_value && code_types.has(g_[n.inputs[k]].type.dtype)) return false;
    return n.op->quant == Quant::same && !n.inputs.empty() && n.inputs[0] != no_value &&
           !g_.constant(n.inputs[0]) && code_types.has(g_[n.inputs[0]].type.dtype) &&
           n.op->eval_quantised;
  }
  ValueId find(ValueId v) const {
    while (group_[index(v)] != v) v = group_[index(v)];
    return v;
  }
  void unite(ValueId a, ValueId b) { group_[index(find(b))] = find(a); }

  /// Marks nodes that cannot be brought over; true if there was a new one.
  bool drop_disagreements() {
    std::map<ValueId, Quantisation> agreed;
    std::set<ValueId> bad;
    const auto spoil = [&](ValueId v) {
      if (v != no_value) bad.insert(find(v));
    };
    std::set<std::pair<std::size_t, ValueId>> stated_here;
    for (const End& e : ends_) {
      if (!foldable_[e.node]) continue;
      stated_here.insert({e.node, e.codes});
      if (g_.constant(e.codes)) continue;  // each use gets a copy
      const auto [it, fresh] = agreed.try_emplace(find(e.codes), e.q);
      if (!fresh && !(it->second == e.q)) bad.insert(it->first);
    }
    for (std::size_t i = 0; i < g_.nodes.size(); i++) {
      const Node& n = g_.nodes[i];
      const bool move = is_move(n);
      for (std::size_t k = 0; k < n.inputs.size(); k++)
        if (!(move && k == 0) && n.inputs[k] != no_value && !stated_here.contains({i, n.inputs[k]}))
          spoil(n.inputs[k]);
      for (ValueId v : n.outputs)
        if (!move && v != no_value && !stated_here.contains({i, v})) spoil(v);
      for (const Subgraph& s : n.subgraphs) std::ranges::for_each(s.captures, spoil);
    }
    bool changed = false;
    for (const End& e : ends_) {
      if (!foldable_[e.node] || g_.constant(e.codes) || !bad.contains(find(e.codes))) continue;
      foldable_[e.node] = false;
      changed = true;
    }
    agreed_ = std::move(agreed);
    return changed;
  }

  // ---- the new graph
  Graph build() {
    out_ = g_;
    out_.nodes.clear();
    for (std::size_t i = 0; i < g_.values.size(); i++)
      if (const auto it = agreed_.find(find(ValueId(i)));
          it != agreed_.end() && !g_.values[i].constant.present())
        out_.values[i].type.quant = it->second;
    for (std::size_t i = 0; i < g_.nodes.size(); i++) {
      Node n = g_.nodes[i];
      if (foldable_[i]) become_plain(i, n);
      out_.nodes.push_back(std::move(n));
    }
    sort_nodes(out_);
    return tidy(infer(out_));
  }

  /// The operator on quantised types, whose inputs carry their scales.
  void become_plain(std::size_t i, Node& n) {
    const OpDef& plain = op_named(n.op->on_codes);
    const Operands o = operands(n);
    std::vector<ValueId> in;
    for (const Operand& each : o.inputs)
      in.push_back(each.scale == no_value ? n.inputs[each.codes]
                                          : with_scale(i, n.inputs[each.codes]));
    if (o.bias != no_value)
      in.push_back(bias(o.bias, scale_at(i, n.inputs[o.inputs.at(0).codes]),
                        scale_at(i, n.inputs[o.inputs.at(1).codes])));
    if (n.origin.op.empty()) n.origin.op = std::string(n.op->name);
    Attributes kept;
    for (const Attribute& a : n.attributes)
      if (plain.schema.has_attribute(a.name)) kept.set(a.name, a.value);
    n.op = &plain;
    n.inputs = std::move(in);
    n.attributes = std::move(kept);
  }

  const Quantisation& scale_at(std::size_t node, ValueId codes) const {
    for (const End& e : ends_)
      if (e.node == node && e.codes == codes) return e.q;
    check(false, "an end is missing");
    return ends_[0].q;
  }

  /// The value, or, for a constant, a copy whose type carries the scale stated at this node.
  ValueId with_scale(std::size_t node, ValueId codes) {
    if (!g_.constant(codes)) return codes;
    const ValueId v = out_.add_constant(g_[codes].name, *g_.constant(codes));
    out_[v].type.quant = scale_at(node, codes);
    return v;
  }

  /// A copy of an i32 bias whose type says that its scale is that of the products.
  ValueId bias(ValueId from, const Quantisation& x, const Quantisation& w) {
    const ValueId v = out_.add_constant(g_[from].name, *g_.constant(from));
    Quantisation& q = out_[v].type.quant;
    for (float s : w.scale) q.scale.push_back(x.scale[0] * s);
    q.zero_point.assign(q.scale.size(), 0);
    return v;
  }

  const Graph& g_;
  Graph out_;
  std::vector<bool> foldable_;
  std::vector<ValueId> group_;
  std::vector<End> ends_;
  std::map<ValueId, Quantisation> agreed_;
};

}  // namespace

Graph import_quantised(const Graph& g) {
  Graph explicit_form = Importer(g).run();
  if (explicit_form == g) return g;
  Graph out = with_signed_codes(fold_dequantised(explicit_form));
  verify(out);
  return out;
}

}  // namespace longshore
