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

/// What the quantiser found against the node itself; nothing where it only follows its inputs.
std::optional<WhyFloat> obstacle(const Compiled& c, const Node& n) {
  for (const FloatNode& f : c.quantisation.float_nodes) {
    if (f.name != n.origin.name || f.op != qualified_name(*n.op)) continue;
    if (f.reason.kind == FloatReason::Kind::follows) return {};
    if (f.reason.kind == FloatReason::Kind::asked)
      return WhyFloat{"--keep-float names it", f.reason.change};
    if (f.reason.kind == FloatReason::Kind::no_form) break;
    if (f.reason.kind == FloatReason::Kind::last)
      return WhyFloat{f.reason.text, f.reason.change, {Wanted::Kind::last_float, {}, {}, {}}};
    return WhyFloat{f.reason.text, f.reason.change};
  }
  if (n.op->quant == Quant::none)
    return WhyFloat{std::string(no_form),
                    integer_form_wanted(*n.op),
                    {Wanted::Kind::form, qualified_name(*n.op), {}, {}}};
  if (only_follows(n)) return {};
  return WhyFloat{"it came in float",
                  str("quantise '", n.origin.name, "' where the model is made")};
}

}  // namespace

WhyFloat why_float(const Compiled& c, std::size_t node) {
  const Graph& g = c.graph;
  const Node& n = g.nodes[node];
  if (!c.quantised_here && !c.was_quantised) return {"not quantised", "quantise it: --calibrate"};
  if (std::optional<WhyFloat> own = obstacle(c, n)) return std::move(*own);
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
    if (!from && input.empty())
      return {"it has no data that is computed",
              str("fold '", at->origin.name, "' or feed it data")};
    if (!from)
      return {str("its data comes from '", input, "', which no node quantises"),
              str("put a node with weights before '", at->origin.name, "'"),
              {Wanted::Kind::codes, input, {}, {}}};
    std::optional<WhyFloat> cause = obstacle(c, *from);
    if (cause || has_codes(g, *from))
      return {str("its input is float because of '", from->origin.name, "' (", from->op->name, ")"),
              cause ? std::move(cause->change) : str("quantise '", from->origin.name, "'"),
              {Wanted::Kind::codes, from->origin.name, {}, {}}};
    at = from;
  }
  return {std::string(no_form), str("quantise '", n.origin.name, "' where the model is made")};
}

}  // namespace longshore::compile
