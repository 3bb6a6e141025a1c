#include "read/fixed_batch.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "ir/op.hpp"

namespace longshore {
namespace {

/// The symbol of the first dim, or nothing.
std::string_view symbol(const TensorType& t) {
  return t.ranked && t.rank() > 0 && !t.dims[0].known() ? std::string_view(t.dims[0].symbol)
                                                        : std::string_view();
}

/// First dims of inputs must agree (Concat beside axis 0) or agree or be 1 (broadcast).
bool joins(const Node& n, int rank) {
  if (n.op->name == "Concat") return resolve_axis(n.attributes.integer("axis"), rank) > 0;
  return n.op->domain.empty() &&
         (n.op->name == "Add" || n.op->name == "Sub" || n.op->name == "Mul" ||
          n.op->name == "Div" || n.op->name == "Where");
}

}  // namespace

std::vector<std::string> fixed_batch(const Graph& g) {
  std::vector<std::string_view> batches;
  for (ValueId v : g.inputs)
    if (const std::string_view s = symbol(g[v].type); !s.empty()) batches.push_back(s);
  const auto is_batch = [&](ValueId v) {
    return v != no_value && std::ranges::find(batches, symbol(g[v].type)) != batches.end() &&
           !symbol(g[v].type).empty();
  };
  std::vector<std::string> out;
  const auto report = [&](const Node& n, ValueId data, std::int64_t number) {
    out.push_back(str("node ", describe(n), " fixes the batch: '", g[data].name, "' is ",
                      print(g[data].type), ", but the node wants ", number,
                      " at the front; other batches will fail"));
  };
  for (const Node& n : g.nodes) {
    const ValueId data = n.input(0);
    if (n.op->name == "Reshape" && n.op->domain.empty() && is_batch(data)) {
      const Tensor* target = g.constant(n.input(1));
      if (target && target->dtype == DType::i64 && target->elements() > 0 &&
          target->values<std::int64_t>()[0] > 0)
        report(n, data, target->values<std::int64_t>()[0]);
      continue;
    }
    const auto batch = std::ranges::find_if(n.inputs, is_batch);
    if (batch == n.inputs.end() || !joins(n, g[*batch].type.rank())) continue;
    for (ValueId v : n.inputs)
      if (v != no_value && g[v].type.ranked && g[v].type.rank() == g[*batch].type.rank() &&
          g[v].type.dims[0].known() && (g[v].type.dims[0].value > 1 || n.op->name == "Concat")) {
        report(n, *batch, g[v].type.dims[0].value);
        break;
      }
  }
  return out;
}

}  // namespace longshore
