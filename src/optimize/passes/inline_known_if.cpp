#include <algorithm>

#include "ir/pass.hpp"
#include "tensor/small_float.hpp"

namespace longshore::passes {
namespace {

/// Puts the body's nodes before `out`'s end; returns the values of its outputs in `g`.
std::vector<ValueId> inline_body(Graph& g, std::vector<Node>& out, const Subgraph& s) {
  std::vector<ValueId> to(s.body.values.size(), no_value);
  for (std::size_t k = 0; k < s.captures.size(); k++) to[index(s.body.captured[k])] = s.captures[k];
  const auto move = [&](ValueId v) {
    if (v == no_value) return v;
    ValueId& at = to[index(v)];
    if (at == no_value) {
      at = g.add_value(s.body[v].name, s.body[v].type);
      g[at].constant = s.body[v].constant;
    }
    return at;
  };
  for (Node n : s.body.nodes) {
    for (ValueId& v : n.inputs) v = move(v);
    for (ValueId& v : n.outputs) v = move(v);
    for (Subgraph& inner : n.subgraphs)
      for (ValueId& v : inner.captures) v = move(v);
    out.push_back(std::move(n));
  }
  std::vector<ValueId> results;
  for (ValueId v : s.body.outputs) results.push_back(move(v));
  return results;
}

Graph run(const Graph& from) {
  Graph g = from;
  std::vector<Node> nodes;
  for (Node& n : g.nodes) {
    for (Subgraph& s : n.subgraphs) s.body = run(s.body);
    const Tensor* condition =
        n.op->domain.empty() && n.op->name == "If" ? g.constant(n.input(0)) : nullptr;
    if (!condition || condition->elements() != 1) {
      nodes.push_back(std::move(n));
      continue;
    }
    const std::string_view wanted = condition->values<Bool8>()[0] ? "then_branch" : "else_branch";
    const auto branch = std::find_if(n.subgraphs.begin(), n.subgraphs.end(),
                                     [&](const Subgraph& s) { return s.name == wanted; });
    const std::vector<ValueId> results = inline_body(g, nodes, *branch);
    for (std::size_t i = 0; i < n.outputs.size(); i++) {
      if (n.outputs[i] == no_value) continue;
      Node copy;  // the names of outputs stay; Identity is removed where that is possible
      copy.op = &op_named("Identity");
      copy.inputs = {results[i]};
      copy.outputs = {n.outputs[i]};
      copy.origin = n.origin;
      nodes.push_back(std::move(copy));
    }
  }
  g.nodes = std::move(nodes);
  sort_nodes(g);
  return infer(g);
}

}  // namespace

extern constinit const Pass pass_inline_known_if = {
    .doc = "An If whose condition is known gives way to the branch that it takes.",
    .run = run,
    .cases = {{"(x: f32[3]) { y = If(bool[]{true}) then_branch=() { a = Relu(x) return a } "
               "else_branch=() { b = Add(x, x) return b } return y }",
               "(x: f32[3]) { a = Relu(x) y = Identity(a) return y }"},
              {"(c: bool[], x: f32[3]) { y = If(c) then_branch=() { a = Relu(x) return a } "
               "else_branch=() { b = Add(x, x) return b } return y }",
               ""}},
};

}  // namespace longshore::passes
