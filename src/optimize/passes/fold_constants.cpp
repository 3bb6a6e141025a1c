#include <algorithm>

#include "base/error.hpp"
#include "ir/pass.hpp"

namespace longshore::passes {
namespace {

/// A folded tensor may not be larger than this, unless its inputs are: a model of 1 KB must not
/// become one of 1 GB through Expand.
constexpr std::int64_t growth_limit_bytes = 1 << 20;

bool all_constant(const Graph& g, const Node& n) {
  return std::all_of(n.inputs.begin(), n.inputs.end(),
                     [&](ValueId v) { return v == no_value || g.constant(v); });
}

std::int64_t bytes(const TensorType& t) {
  const std::optional<Shape> shape = t.shape();
  const std::int64_t n = shape ? checked_elements(*shape) : -1;
  return n < 0 ? INT64_MAX : n * static_cast<std::int64_t>(size_bytes(t.dtype));
}

/// The outputs of a node with constant inputs, or nothing where it fails or grows too much.
std::vector<Tensor> compute(const Graph& g, const Node& n) {
  if (!n.op->eval || !n.op->deterministic || !n.subgraphs.empty() || !all_constant(g, n)) return {};
  std::int64_t in = 0, out = 0;
  std::vector<Tensor> inputs;
  for (ValueId v : n.inputs) {
    inputs.push_back(v == no_value ? Tensor{} : *g.constant(v));
    if (v != no_value) in += bytes(g[v].type);
  }
  for (ValueId v : n.outputs)
    if (v != no_value) out = std::max(out, bytes(g[v].type));
  // Dims that depend on data (NonZero) are unknown: run it, its output cannot be large.
  if (out != INT64_MAX && out > std::max(in, growth_limit_bytes)) return {};
  if (out == INT64_MAX && in > growth_limit_bytes) return {};
  try {
    return evaluate_node(g, n, inputs);
  } catch (const Error& e) {
    if (e.code() == Code::internal) throw;
    return {};  // an error status belongs to run time
  }
}

Graph run(const Graph& from) {
  Graph g = from;
  std::map<ValueId, Tensor> known = known_elements(g);
  std::vector<Node> kept;
  for (Node& n : g.nodes) {
    std::vector<Tensor> out = compute(g, n);
    bool all = !out.empty();
    if (out.empty()) {
      out.resize(n.outputs.size());
      all = true;
      for (std::size_t i = 0; i < n.outputs.size(); i++) {
        if (n.outputs[i] == no_value) continue;
        const auto it = known.find(n.outputs[i]);
        if (it == known.end())
          all = false;
        else
          out[i] = it->second;
      }
    }
    if (!all) {
      for (Subgraph& s : n.subgraphs) s.body = run(s.body);
      kept.push_back(std::move(n));
      continue;
    }
    for (std::size_t i = 0; i < n.outputs.size(); i++) {
      if (n.outputs[i] == no_value) continue;
      Value& v = g[n.outputs[i]];
      const Quantisation quant = v.type.quant;
      v.type = TensorType(out[i].dtype, out[i].shape);
      v.type.quant = quant;
      v.constant = std::move(out[i]);
    }
  }
  g.nodes = std::move(kept);
  sort_nodes(g);
  return g;
}

}  // namespace

extern constinit const Pass pass_fold_constants = {
    .doc =
        "What depends on constants and known dims alone is computed now, by the same reference "
        "kernels.",
    .run = run,
    .cases = {{"(x: f32[2,3]) { a = Add(f32[]{1}, f32[]{2}) y = Add(x, a) return y }",
               "(x: f32[2,3]) { y = Add(x, f32[]{3}) return y }"},
              {"(x: f32[2,3]) { a = Shape(x) y = Add(a, i64[]{1}) return y }",
               "(x: f32[2,3]) { y = i64[2]{3, 4} return y }"},
              {"(x: f32[N,3]) { y = Shape(x) return y }", ""}},
};

}  // namespace longshore::passes
