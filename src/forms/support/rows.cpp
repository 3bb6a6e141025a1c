#include "forms/support/rows.hpp"

#include "base/error.hpp"

namespace longshore::forms {
namespace {

/// The axis of the rows, or -1 where the rank is unknown or has no such axis.
int axis_of(const FormNode& n) {
  const TensorType& x = n.type(n.data());
  return x.ranked ? resolve_axis(n.spec.axis, x.rank()) : -1;
}

}  // namespace

std::optional<AxisOrder> row_order(const FormNode& n) {
  const int axis = axis_of(n), rank = n.type(n.data()).rank();
  if (axis < 0 || rank < 3 || rank > 4) return {};
  if (axis == rank - 1) return AxisOrder::channels_last;
  if (axis == 1) return AxisOrder::channels_first;
  return {};
}

void row_limits(const FormNode& n, Reasons& out) {
  const Value& x = n.graph[n.data()];
  const int axis = axis_of(n), rank = x.type.rank();
  if (axis < 0 || rank > 4 || row_order(n)) return;  // said of all forms
  if (nhwc_axis(x.order, rank, axis) == 3) return;
  const bool images = x.order == AxisOrder::channels_first && rank > 2;
  out.add(
      {str("its rows run along axis ", axis, " of '", x.name, "', whose channels are axis ",
           images ? 1 : rank - 1),
       {},
       str("transpose '", x.name, "' so that the rows run along axis ", images ? 1 : rank - 1)});
}

std::vector<Operand> row_operands(const FormSpec& s) {
  return {{.input = s.data}, {.source = Operand::Source::made}};
}

TileRules row_rules(const FormNode& n, const Machine&) {
  return {.channel_grain = n.out.c, .whole_channels = true};
}

Box row_reach(const FormNode&, std::size_t operand, const TileBox& tile) {
  return operand == 0 ? tile.out : Box{};
}

}  // namespace longshore::forms
