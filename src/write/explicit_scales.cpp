#include <algorithm>
#include <array>
#include <optional>

#include "base/error.hpp"
#include "ir/recode.hpp"
#include "tensor/quant.hpp"
#include "write/standard.hpp"

namespace longshore {
namespace {

class Expander {
 public:
  Expander(const Graph& g, bool unsigned_bytes)
      : g_(unsigned_bytes ? with_unsigned_bytes(g) : g),
        out_(g_),
        floats_(g.values.size(), no_value),
        scales_(g.values.size()),
        unsigned_bytes_(unsigned_bytes) {
    out_.nodes.clear();
    for (Value& v : out_.values) v.type.quant = {};
  }

  Graph run() {
    for (const Node& n : g_.nodes) {
      if (n.op->quant == Quant::recode)
        recode(n);
      else
        node(n);
    }
    sort_nodes(out_);
    return std::move(out_);
  }

 private:
  /// Nobody but pairs of QuantizeLinear and DequantizeLinear sees the codes between operators: the
  /// same numbers as u8. What the graph is given or gives keeps its type.
  static Graph with_unsigned_bytes(const Graph& g) {
    Graph out = g;
    for (const Node& n : g.nodes)
      for (const ValueId v : n.outputs) {
        if (v == no_value || !g[v].type.quantised() || g[v].type.dtype != DType::i8) continue;
        if (std::ranges::find(g.outputs, v) != g.outputs.end()) continue;
        out[v].type.dtype = DType::u8;
        for (std::int32_t& z : out[v].type.quant.zero_point) z += 128;
      }
    return out;
  }

  bool codes(ValueId v) const { return v != no_value && g_[v].type.quantised(); }

  /// Scale and zero point of a value of codes, as constants. A bias has no zero point: not all
  /// tools take one for i32, and it is 0.
  using Scales = std::array<ValueId, 2>;
  const Scales& scales(ValueId v) {
    std::optional<Scales>& known = scales_[index(v)];
    if (known) return *known;
    const TensorType& t = g_[v].type;
    const Shape dims = dims_of_scales(t);
    const std::string& name = g_[v].name;
    known = {out_.add_constant(name + "_scale", make_floats(dims, t.quant.scale)), no_value};
    const auto& zero = t.quant.zero_point;
    if (t.dtype == DType::i32 && std::ranges::all_of(zero, [](auto z) { return z == 0; }))
      return *known;
    std::vector<std::byte> bytes(zero.size() * size_bytes(t.dtype));
    const MutableView to{t.dtype, dims, bytes.data(), {}};
    for (std::size_t i = 0; i < zero.size(); i++)
      store_code(to, static_cast<std::int64_t>(i), zero[i]);
    (*known)[1] =
        out_.add_constant(name + "_zero_point", {t.dtype, dims, make_blob(std::move(bytes))});
    return *known;
  }

  static Shape dims_of_scales(const TensorType& t) {
    const auto count = static_cast<std::int64_t>(t.quant.scale.size());
    if (count == 1) return {};
    if (t.quant.block == 0) return Shape{count};
    std::optional<Shape> dims = t.shape();
    check(dims.has_value(), "a value with scales by block has dims");
    std::int64_t& along = (*dims)[t.quant.axis];
    along = (along + t.quant.block - 1) / t.quant.block;
    return *dims;
  }

  void append(const OpDef& op, ValueId from, ValueId of_scales, ValueId to) {
    const Quantisation& q = g_[of_scales].type.quant;
    const Scales s = scales(of_scales);
    Node n;
    n.op = &op;
    n.inputs = {from, s[0], s[1]};
    if (s[1] == no_value) n.inputs.pop_back();
    n.outputs = {to};
    if (q.scale.size() > 1) n.attributes.set("axis", std::int64_t{q.axis});
    if (q.block > 0) n.attributes.set("block_size", q.block);
    n.origin.name = str(g_[of_scales].name, "_", op.name);
    out_.nodes.push_back(std::move(n));
  }

  void quantise(ValueId from, ValueId to) {
    append(ops::op_quantize_linear::definition, from, to, to);
  }

  ValueId as_float(ValueId v) {
    if (!codes(v)) return v;
    ValueId& to = floats_[index(v)];
    if (to != no_value) return to;
    to = new_float(v, "_dequantised");
    append(ops::op_dequantize_linear::definition, v, v, to);
    return to;
  }
  ValueId new_float(ValueId v, std::string_view ending) {
    TensorType t = g_[v].type;
    t.dtype = DType::f32;
    t.quant = {};
    return out_.add_value(str(g_[v].name, ending), std::move(t));
  }

  /// What only changes the representation is the pair itself, or half of it.
  void recode(const Node& n) {
    const ValueId from = n.inputs.at(0), to = n.outputs.at(0);
    if (codes(to)) return quantise(as_float(from), to);
    append(ops::op_dequantize_linear::definition, from, from, to);
    floats_[index(from)] = to;
  }

  void node(const Node& n) {
    Node copy = n;
    for (Subgraph& s : copy.subgraphs) s.body = Expander(s.body, unsigned_bytes_).run();
    for (ValueId& v : copy.inputs) v = as_float(v);
    std::vector<std::pair<ValueId, ValueId>> made;  // floats, codes
    for (ValueId& v : copy.outputs) {
      if (!codes(v)) continue;
      made.emplace_back(new_float(v, "_float"), v);
      v = made.back().first;
    }
    out_.nodes.push_back(std::move(copy));
    for (const auto& [from, to] : made) quantise(from, to);
  }

  const Graph g_;
  Graph out_;
  std::vector<ValueId> floats_;  // of values of codes
  std::vector<std::optional<Scales>> scales_;
  bool unsigned_bytes_;
};

}  // namespace

Graph with_explicit_scales(const Graph& g, bool unsigned_bytes) {
  return tidy(infer(Expander(g, unsigned_bytes).run()));
}

}  // namespace longshore
