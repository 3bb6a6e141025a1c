#pragma once
#include "forms/form.hpp"

namespace longshore {

/// Sets Value::order of every value: as the forms of the nodes around it want it, and alike
/// wherever a form walks its operands and its result together. Where two forms disagree about
/// connected values, the one with more multiply-accumulates has its way. `specs`: by node.
void decide_orders(Graph&, const std::vector<FormSpec>& specs);

}  // namespace longshore
