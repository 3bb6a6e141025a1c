#include "quantize/signed_codes.hpp"

#include <algorithm>

#include "ir/op.hpp"

namespace longshore {
namespace {

bool unsigned_codes(const TensorType& t) { return t.quantised() && t.dtype == DType::u8; }

Tensor less_128(const Tensor& t) {
  std::vector<std::int8_t> codes;
  for (std::uint8_t c : t.values<std::uint8_t>())
    codes.push_back(static_cast<std::int8_t>(c - 128));
  return make_tensor<std::int8_t>(DType::i8, t.shape, codes);
}

}  // namespace

Graph with_signed_codes(const Graph& g) {
  Graph out = g;
  std::vector<bool> fixed(g.values.size());
  for (ValueId v : g.inputs) fixed[index(v)] = true;
  for (ValueId v : g.outputs) fixed[index(v)] = true;
  for (ValueId v : g.captured) fixed[index(v)] = true;
  for (const Node& n : g.nodes)
    for (const Subgraph& s : n.subgraphs)
      for (ValueId v : s.captures) fixed[index(v)] = true;
  // Operators without a rescaling (moves) have one type on both sides.
  for (bool changed = true; changed;) {
    changed = false;
    for (const Node& n : g.nodes) {
      if (n.op->quant != Quant::same) continue;
      bool any = false;
      for (const auto* list : {&n.inputs, &n.outputs})
        for (ValueId v : *list)
          any = any || (v != no_value && fixed[index(v)] && unsigned_codes(g[v].type));
      for (const auto* list : {&n.inputs, &n.outputs})
        for (ValueId v : *list)
          if (any && v != no_value && unsigned_codes(g[v].type) && !fixed[index(v)])
            fixed[index(v)] = changed = true;
    }
  }
  for (std::size_t i = 0; i < out.values.size(); i++) {
    Value& v = out.values[i];
    if (fixed[i] || !unsigned_codes(v.type)) continue;
    v.type.dtype = DType::i8;
    for (std::int32_t& z : v.type.quant.zero_point) z -= 128;
    if (v.constant.present()) v.constant = less_128(v.constant);
  }
  return out;
}

}  // namespace longshore
