#include "ir/pass.hpp"

namespace longshore::passes {
namespace {

Graph run(const Graph& from) {
  Graph g = from;
  for (Node& n : g.nodes)
    for (Subgraph& s : n.subgraphs) {
      for (std::size_t k = s.captures.size(); k-- > 0;) {
        if (!g.constant(s.captures[k])) continue;
        Value& inner = s.body[s.body.captured[k]];
        inner.constant = *g.constant(s.captures[k]);
        inner.type = g[s.captures[k]].type;
        s.body.captured.erase(s.body.captured.begin() + static_cast<std::ptrdiff_t>(k));
        s.captures.erase(s.captures.begin() + static_cast<std::ptrdiff_t>(k));
      }
      s.body = run(s.body);
    }
  return g;
}

}  // namespace

extern constinit const Pass pass_sink_constants = {
    .doc =
        "A constant that a subgraph captures becomes a constant of the subgraph (the bytes stay "
        "shared).",
    .run = run,
    .cases = {{"(c: bool[], x: f32[2]) { k = f32[2]{1, 2} y = If(c) then_branch=() { a = Add(x, k) "
               "return a } "
               "else_branch=() { b = Relu(x) return b } return y }",
               "(c: bool[], x: f32[2]) { y = If(c) then_branch=() { k = f32[2]{1, 2} a = Add(x, k) "
               "return a } "
               "else_branch=() { b = Relu(x) return b } return y }"}},
};

}  // namespace longshore::passes
