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
    const auto batch = std::ranges::find_if(n.inputs, is_batch);
    if (batch == n.inputs.end() || !n.op->first_dim) continue;
    if (const std::int64_t number = n.op->first_dim({n, g}); number > 0) report(n, *batch, number);
  }
  return out;
}

}  // namespace longshore
