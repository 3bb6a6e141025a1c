#pragma once
#include "ir/graph.hpp"

namespace longshore {

/// Quantised u8 values inside the graph and u8 constants as i8 with the same numbers: codes and
/// zero points less 128. Every operator gives the same numbers, since formulas see codes only less
/// their zero point; NPUs and fast kernels want i8. Inputs and outputs of the graph, and what moves
/// of codes tie to them, keep their type.
Graph with_signed_codes(const Graph&);

}  // namespace longshore
