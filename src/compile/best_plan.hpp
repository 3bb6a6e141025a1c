#pragma once
#include "plan/plan.hpp"

namespace longshore::compile {

/// The plan of a placement. Placement prices node by node and knows neither what will be fused nor
/// what hides behind a neighbour: where it keeps on the CPU what the NPU can run, the simulator
/// compares with all of that on the NPU, and the faster plan is taken. `how`: what it was placed
/// by.
plan::Plan best_plan(Placement placed, PlaceOptions how, const plan::PlanOptions&);

}  // namespace longshore::compile
