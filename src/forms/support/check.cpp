#include "base/error.hpp"
#include "forms/form.hpp"

namespace longshore::forms {
namespace {

/// The NPU's extents are 16 bits.
constexpr std::int64_t most_extent = 65535;

std::string list(const List<DType>& dtypes) {
  std::string out;
  for (DType d : dtypes) out += (out.empty() ? "" : " or ") + std::string(name(d));
  return out;
}

void check_value(const FormDef& form, const FormNode& n, const Unit& unit, ValueId v,
                 std::string_view what, Reasons& out) {
  const bool data = v == n.data();
  const Value& value = n.graph[v];
  const TensorType& t = value.type;
  const std::string named = str(what, " '", value.name, "'");
  const std::optional<Extent> e = extent_of(value);
  if (!t.ranked || t.rank() > 4) {
    out.range(str("the rank of ", named), t.ranked ? t.rank() : max_rank + 1, 1, 4,
              "the NPU walks");
  } else if (!e) {
    std::string open;
    for (const Dim& d : t.dims)
      if (!d.known()) open = d.symbol.empty() ? "?" : d.symbol;
    out.add({str(named, " has the dims ", print(t), "; the NPU walks 1 to 4 known dims"),
             {},
             open == "?" ? str("give the model's inputs fixed dims (--shape)")
                         : str("--dim ", open, "=N")});
  }
  if (e) {
    for (const std::int64_t dim : {e->n, e->h, e->w, e->c})
      if (dim > most_extent || dim < 1)
        out.range(str("a dim of ", named), dim, 1, most_extent, "the NPU walks");
  }
  bool known = false;
  for (DType d : form.dtypes) known |= d == t.dtype;
  for (DType d : form.reads) known |= data && d == t.dtype;
  if (!known || !t.quantised())
    out.add({str(named, " is ", t.quantised() ? "" : "plain ", name(t.dtype),
                 "; this form works on quantised ", list(form.dtypes)),
             {},
             str("quantise '", value.name, "' to ", name(form.dtypes[0]))});
  else if (!unit.machine.dtypes.has(t.dtype))
    out.lacks(unit, str("tiles of ", name(t.dtype), ", which ", named, " is"), "npu.dtypes");
  else if (t.quant.scale.size() != 1)
    out.range(str("the number of scales of ", named),
              static_cast<std::int64_t>(t.quant.scale.size()), 1, 1, "the NPU takes");
}

}  // namespace

void check_node(const FormDef& form, const FormNode& n, const Unit& unit, Reasons& out) {
  for (const Obstacle& o : n.spec.obstacles) out.obstacle(o);
  if (!n.node.subgraphs.empty())
    out.range("the number of subgraphs", static_cast<std::int64_t>(n.node.subgraphs.size()), 0, 0,
              "the NPU takes");
  if (n.data() == no_value || n.result() == no_value) {
    out.value("its data", "absent", "an input and an output");
    return;
  }
  for (const Operand& o : form.operands(n.spec)) {
    const ValueId v = n.input(o.input);
    if (v == no_value ||
        (o.source != Operand::Source::value && o.source != Operand::Source::inside))
      continue;
    check_value(form, n, unit, v, "input", out);
    if (o.input == n.spec.data && !o.broadcast && n.graph.constant(v))
      out.value(str("input '", n.graph[v].name, "'"), "a constant", "computed");
  }
  for (ValueId v : n.node.outputs)
    if (v != no_value) check_value(form, n, unit, v, "output", out);
  form.limits(n, unit, out);
}

}  // namespace longshore::forms
