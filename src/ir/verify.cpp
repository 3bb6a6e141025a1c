#include <algorithm>
#include <unordered_set>

#include "base/error.hpp"
#include "ir/op.hpp"

namespace longshore {
namespace {

[[noreturn]] void broken(const std::string& what) {
  fail(Code::internal, "the graph is inconsistent: ", what);
}

void verify_structure(const Graph& g) {
  std::vector<int> def(g.values.size(), -1);
  std::vector<bool> ready(g.values.size());
  const auto in_range = [&](ValueId v, const std::string& who) {
    if (index(v) >= g.values.size()) broken(who + " refers to a value that does not exist");
  };
  const auto give = [&](ValueId v, const std::string& who) {
    in_range(v, who);
    if (ready[index(v)]) broken(str("value '", g[v].name, "' has two sources, one is ", who));
    ready[index(v)] = true;
  };
  std::unordered_set<std::string_view> names;
  for (std::size_t i = 0; i < g.values.size(); i++) {
    const Value& v = g.values[i];
    if (!names.insert(v.name).second) broken("the name '" + v.name + "' is given twice");
    if (!v.constant.present()) continue;
    ready[i] = true;
    if (v.type.dtype != v.constant.dtype || v.type.shape() != v.constant.shape)
      broken("constant '" + v.name + "' does not have the type " + print(v.type));
    if (v.constant.blob->size() < v.constant.bytes())
      broken("constant '" + v.name + "' has too few bytes");
  }
  for (ValueId v : g.inputs) give(v, "the inputs");
  for (ValueId v : g.captured) give(v, "the captures");
  for (std::size_t i = 0; i < g.nodes.size(); i++) {
    const Node& n = g.nodes[i];
    const std::string who = "node " + describe(n);
    if (!n.op) broken(who + " has no operator");
    const auto use = [&](ValueId v) {
      if (v == no_value) return;
      in_range(v, who);
      if (!ready[index(v)]) broken(str(who, " uses '", g[v].name, "' before it is computed"));
    };
    std::ranges::for_each(n.inputs, use);
    for (const Subgraph& s : n.subgraphs) {
      std::ranges::for_each(s.captures, use);
      if (s.captures.size() != s.body.captured.size())
        broken(who + ": captures do not match subgraph " + s.name);
      verify_structure(s.body);
    }
    for (ValueId v : n.outputs) {
      if (v == no_value) continue;
      give(v, who);
      if (g[v].def != static_cast<int>(i))
        broken(str(who, ": the definition of '", g[v].name, "' is recorded elsewhere"));
    }
  }
  for (ValueId v : g.outputs) {
    in_range(v, "the outputs");
    if (!ready[index(v)]) broken("output '" + g[v].name + "' is not computed");
  }
  for (std::size_t i = 0; i < g.values.size(); i++) {
    const Quantisation& q = g.values[i].type.quant;
    if (q.scale.size() != q.zero_point.size())
      broken("value '" + g.values[i].name + "' has scales without zero points");
    const TensorType& t = g.values[i].type;
    Shape dims;
    if (t.ranked && t.rank() <= max_rank)
      for (const Dim& d : t.dims) dims.push(d.value);
    if (q.scale.size() > 1 && t.ranked && !quant_fits(q.view(), dims))
      broken("value '" + g.values[i].name + "' has scales that do not fit its dims");
    for (float s : q.scale)
      if (!(s > 0)) broken("value '" + g.values[i].name + "' has a scale that is not positive");
  }
}

/// True unless both know a thing and disagree.
bool compatible(const TensorType& a, const TensorType& b) {
  if (a.dtype == DType::undefined || b.dtype == DType::undefined) return true;
  if (a.dtype != b.dtype) return false;
  if (!a.ranked || !b.ranked) return true;
  if (a.rank() != b.rank()) return false;
  for (int i = 0; i < a.rank(); i++) {
    const Dim &x = a.dims[static_cast<std::size_t>(i)], &y = b.dims[static_cast<std::size_t>(i)];
    if (x.known() && y.known() && x.value != y.value) return false;
  }
  return true;
}

}  // namespace

void verify(const Graph& g) {
  verify_structure(g);
  for (const StateSlot& s : g.states) {
    if (s.input >= g.inputs.size() || s.output >= g.outputs.size())
      broken("a state has no input or no output");
    const TensorType &in = g[g.inputs[s.input]].type, &out = g[g.outputs[s.output]].type;
    if (!compatible(in, out) || !(in.quant == out.quant))
      broken(str("the state '", g[g.inputs[s.input]].name, "' is ", print(in), ", what it becomes ",
                 print(out)));
  }
  const Graph again = infer(g);
  for (std::size_t i = 0; i < g.values.size(); i++)
    if (!compatible(g.values[i].type, again.values[i].type))
      broken(str("value '", g.values[i].name, "' is recorded as ", print(g.values[i].type),
                 " and inferred as ", print(again.values[i].type)));
}

}  // namespace longshore
