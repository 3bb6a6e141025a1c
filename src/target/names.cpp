#include <algorithm>
#include <set>

#include "base/error.hpp"
#include "target/target.hpp"

namespace longshore {
namespace {

constexpr std::pair<Rounding, std::string_view> rounding_names[] = {
    {Rounding::f32_even, "f32_even"},
    {Rounding::fixed31_single, "fixed31_single"},
    {Rounding::fixed31_double, "fixed31_double"},
};

constexpr std::string_view general[] = {"batch",        "elements", "in_channels", "in_h", "in_w",
                                        "out_channels", "out_h",    "out_w",       "rank"};

/// Channels, height, width of a tensor that looks like NCHW, NC or a vector.
void dims_facts(const TensorType& t, std::string_view prefix, Facts& out) {
  const std::optional<Shape> s = t.shape();
  if (!s || s->rank < 2 || s->rank > 4) return;
  out[str(prefix, "_channels")] = (*s)[1];
  if (s->rank > 2) out[str(prefix, "_h")] = (*s)[2];
  if (s->rank > 3) out[str(prefix, "_w")] = (*s)[3];
}

void collect(const OpDef& op, std::set<std::string>& names) {
  if (!op.facts) return;
  for (std::string_view text : op.examples) {
    const Graph g = parse(text);
    for (const Node& n : g.nodes) {
      if (n.op != &op) continue;
      Facts facts;
      op.facts({n, g}, facts);
      for (const auto& [key, value] : facts) names.insert(key);
    }
  }
}

}  // namespace

std::string_view name(Rounding mode) {
  for (const auto& [m, text] : rounding_names)
    if (m == mode) return text;
  return "?";
}
std::optional<Rounding> rounding_named(std::string_view text) {
  for (const auto& [m, name] : rounding_names)
    if (name == text) return m;
  return {};
}

Facts node_facts(const Graph& g, const Node& n) {
  Facts out;
  if (n.output() == no_value) return out;
  if (n.input(0) != no_value) {
    const TensorType& x = g[n.input(0)].type;
    dims_facts(x, "in", out);
    if (x.ranked) out["rank"] = x.rank();
    if (const auto s = x.shape(); s && s->rank > 1) out["batch"] = (*s)[0];
  }
  dims_facts(g[n.output()].type, "out", out);
  if (const auto s = g[n.output()].type.shape()) out["elements"] = s->elements();
  if (n.op->facts) {
    Facts own;
    n.op->facts({n, g}, own);
    for (const auto& [key, value] : own) out[key] = value;
  }
  return out;
}

std::vector<std::string> fact_names(const OpDef& op) {
  std::set<std::string> names(std::begin(general), std::end(general));
  collect(op, names);
  return {names.begin(), names.end()};
}

std::string_view form_name(const OpDef& op) {
  for (std::string_view text : op.examples) {
    if (!op.form) break;
    const Graph g = parse(text);
    for (const Node& n : g.nodes)
      if (n.op == &op) return op.form({n, g}).form;
  }
  return {};
}

std::vector<std::string> fact_names(const FormName& form) {
  std::set<std::string> names(std::begin(general), std::end(general));
  for (const OpDef* op : ops::all())
    if (const std::string_view own = form_name(*op);
        !own.empty() && (own == form.name || own == form.like))
      collect(*op, names);
  return {names.begin(), names.end()};
}

}  // namespace longshore
