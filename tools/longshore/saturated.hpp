#pragma once
#include <span>

#include "ir/graph.hpp"

namespace longshore {

/// Warns where more than half of these tensors for an input lies beyond what its codes reach: so it
/// is where a model was calibrated on other numbers (mean, std) than it is given.
void warn_of_saturated(const Graph&, ValueId input, std::span<const Tensor> samples);

}  // namespace longshore
