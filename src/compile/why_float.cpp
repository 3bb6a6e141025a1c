#include "compile/why_float.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "ir/op.hpp"
#include "quantize/select.hpp"

namespace longshore::compile {
namespace {

constexpr std::string_view no_form = "has no int8 form";

bool has_codes(const Graph& g, const Node& n) {
  return std::ranges::any_of(n.outputs,
                             [&](ValueId v) { return v != no_value && g[v].type.quantised(); });
}

/// A node that could compute with codes if its data had some.
bool only_follows(const Node& n) { return n.op->quant != Quant::none && !n.op->weight_axis; }

/// What the quantiser found against the node itself; empty where it only follows its inputs.
std::string obstacle(const Compiled& c, const Node& n) {
  if (n.op->quant == Quant::none) return std::string(no_form);
  for (const FloatNode& f : c.quantisation.float_nodes) {
    if (f.name != n.origin.name || f.op != qualified_name(*n.op)) continue;
    if (f.reason == "excluded by request") return "--keep-float names it";
    if (f.reason == "the operator has no integer form") return std::string(no_form);
    if (f.reason == "none of its inputs is quantised") return {};
    return f.reason;
  }
  return only_follows(n) ? std::string() : "it came in float";
}

}  // namespace

WhyFloat why_float(const Compiled& c, std::size_t node) {
  const Graph& g = c.graph;
  const Node& n = g.nodes[node];
  if (!c.quantised_here && !c.was_quantised) return {"not quantised", "quantise it: --calibrate"};
  std::string own = obstacle(c, n);
  if (own == "--keep-float names it") return {std::move(own), "leave it out there"};
  if (!own.empty()) return {std::move(own), {}};
  // Towards the inputs: the first node that is float for a reason of its own.
  const Node* at = &n;
  for (std::size_t steps = 0; steps <= g.nodes.size(); steps++) {
    const Node* from = nullptr;
    std::string input;
    for (const std::size_t k : data_inputs(g, *at)) {
      const ValueId v = at->inputs[k];
      if (v == no_value || g.constant(v)) continue;
      input = g[v].name;
      if (from = g.def(v); from) break;
    }
    if (!from) {
      if (input.empty()) return {"it has no data that could be quantised", {}};
      return {str("its data comes from '", input, "', which no node quantises"), {}};
    }
    if (from->op->quant == Quant::none || !obstacle(c, *from).empty() || has_codes(g, *from))
      return {str("its input is float because of '", from->origin.name, "' (", from->op->name, ")"),
              {}};
    at = from;
  }
  return {std::string(no_form), {}};
}

}  // namespace longshore::compile
