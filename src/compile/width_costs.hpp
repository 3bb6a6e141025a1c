#pragma once
#include <functional>

#include "plan/plan.hpp"
#include "quantize/widths.hpp"

namespace longshore::compile {

/// What codes of 8 and of 16 bits take on a target, from the plans of a quantised graph: layers are
/// those of the narrow plan, at the simulator's times; a conversion has the price of placement.
WidthCosts width_costs(const std::function<plan::Plan(const Graph&)>& plan);

}  // namespace longshore::compile
