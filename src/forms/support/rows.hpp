// Rows that are the channels of one pixel, as softmax has them.
#pragma once
#include "forms/form.hpp"

namespace longshore::forms {

/// The walk that makes the spec's axis the channels; nothing where every walk does or none.
std::optional<AxisOrder> row_order(const FormNode&);

/// The spec's axis must be one that some walk has as its channels.
void row_limits(const FormNode&, Reasons&);

/// The walked rows, and what the form makes for them.
std::vector<Operand> row_operands(const FormSpec&);

/// A tile has all channels.
TileRules row_rules(const FormNode&, const Machine&);

/// The tile of the walked operand, which alone follows the tile of the result.
Box row_reach(const FormNode&, std::size_t operand, const TileBox&);

}  // namespace longshore::forms
