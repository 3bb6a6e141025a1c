// Which nodes that the NPU can run go there: the cheapest way to cut the whole graph.
#pragma once
#include "place/place.hpp"

namespace longshore {

/// Moves nodes that stand on the NPU to the CPU where the whole model takes less time so, or where
/// the options say so. Throws for a node that is forced to an NPU which cannot run it.
void choose_units(Placement&, const PlaceOptions&);

/// Codes on one side and floats on the other, which no NPU turns into each other.
bool is_border(const Graph&, const Node&);

}  // namespace longshore
