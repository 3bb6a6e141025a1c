#include <algorithm>
#include <map>

#include "ir/pass.hpp"

namespace longshore::passes {
namespace {

/// Equal in every bit: 0.0 and -0.0 differ, and so do constants of other types or scales.
bool same_constant(const Value& a, const Value& b) {
  return a.type == b.type && a.constant == b.constant;
}

std::size_t hash(const Value& v) {
  const auto bytes = v.constant.blob->bytes();
  std::size_t h = v.constant.bytes() * 31 + static_cast<std::size_t>(v.constant.dtype);
  for (std::size_t i = 0, n = std::min<std::size_t>(bytes.size(), 64); i < n; i++)
    h = h * 131 + static_cast<std::size_t>(bytes[i]);
  return h;
}

bool same_node(const Graph& g, const Node& a, const Node& b) {
  if (a.op != b.op || a.inputs != b.inputs || !(a.attributes == b.attributes) ||
      !a.subgraphs.empty() || !b.subgraphs.empty() || a.outputs.size() != b.outputs.size())
    return false;
  for (std::size_t i = 0; i < a.outputs.size(); i++) {
    if ((a.outputs[i] == no_value) != (b.outputs[i] == no_value)) return false;
    if (a.outputs[i] != no_value && !(g[a.outputs[i]].type == g[b.outputs[i]].type)) return false;
  }
  return true;
}

Graph run(const Graph& from) {
  Graph g = from;
  std::vector<ValueId> to(g.values.size());
  for (std::size_t i = 0; i < to.size(); i++) to[i] = ValueId(i);
  std::vector<bool> outputs(g.values.size());
  for (ValueId v : g.outputs) outputs[index(v)] = true;
  const auto is_output = [&](ValueId v) { return v != no_value && outputs[index(v)]; };

  std::multimap<std::size_t, ValueId> constants;
  for (std::size_t i = 0; i < g.values.size(); i++) {
    const Value& v = g.values[i];
    if (!v.constant.present() || is_output(ValueId(i))) continue;
    const std::size_t h = hash(v);
    const auto [begin, end] = constants.equal_range(h);
    const auto twin = std::find_if(
        begin, end, [&](const auto& each) { return same_constant(g[each.second], v); });
    if (twin == end)
      constants.emplace(h, ValueId(i));
    else
      to[i] = twin->second;
  }

  std::multimap<std::pair<const OpDef*, std::vector<ValueId>>, std::size_t> seen;
  std::vector<Node> kept;
  for (Node& n : g.nodes) {
    for (ValueId& v : n.inputs)
      if (v != no_value) v = to[index(v)];
    for (Subgraph& s : n.subgraphs) {
      for (ValueId& v : s.captures) v = to[index(v)];
      s.body = run(s.body);
    }
    const std::pair key(n.op, n.inputs);
    const auto [begin, end] = seen.equal_range(key);
    // Two outputs of the graph must stay two values.
    const bool free =
        n.op->deterministic && std::none_of(n.outputs.begin(), n.outputs.end(), is_output);
    const auto twin =
        free ? std::find_if(begin, end,
                            [&](const auto& each) { return same_node(g, kept[each.second], n); })
             : end;
    if (twin == end) {
      seen.emplace(key, kept.size());
      kept.push_back(std::move(n));
      continue;
    }
    for (std::size_t i = 0; i < n.outputs.size(); i++)
      if (n.outputs[i] != no_value) to[index(n.outputs[i])] = kept[twin->second].outputs[i];
  }
  g.nodes = std::move(kept);
  for (ValueId& v : g.outputs) v = to[index(v)];
  sort_nodes(g);
  return g;
}

}  // namespace

extern constinit const Pass pass_merge_equal = {
    .doc = "Equal constants are one, and so are equal operators on equal inputs.",
    .run = run,
    .cases = {{"(x: f32[3]) { a = Relu(x) b = Relu(x) y = Add(a, b) return y }",
               "(x: f32[3]) { a = Relu(x) y = Add(a, a) return y }"},
              {"(x: f32[1]) { a = Add(x, f32[1]{0.0}) b = Add(x, f32[1]{-0.0}) return a, b }", ""},
              {"(x: f32[1]) { a = Add(x, f32[1]{5}) b = Add(x, f32[1]{6}) y = Add(a, b) return y }",
               ""},
              {"(x: f32[3]) { a = Relu(x) b = Relu(x) return a, b }", ""}},
};

}  // namespace longshore::passes
