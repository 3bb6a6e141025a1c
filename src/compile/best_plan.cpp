#include "compile/best_plan.hpp"

#include <algorithm>

#include "lower/lower.hpp"

namespace longshore::compile {

plan::Plan best_plan(Placement placed, PlaceOptions how, const plan::PlanOptions& options) {
  plan::Plan plan = lower::timed_plan(placed, options);
  if (!how.by_price || options.goal != plan::Goal::time) return plan;
  how.by_price = false;
  const Placement whole = place(placed.graph, placed.target, how);
  if (std::ranges::equal(placed.nodes, whole.nodes, {}, &NodePlacement::chosen,
                         &NodePlacement::chosen))
    return plan;
  plan::Plan other = lower::timed_plan(whole, options);
  return lower::predicted_ns(other) < lower::predicted_ns(plan) ? std::move(other)
                                                                : std::move(plan);
}

}  // namespace longshore::compile
