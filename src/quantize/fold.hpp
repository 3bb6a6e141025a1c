#pragma once
#include "ir/graph.hpp"

namespace longshore {

/// longshore.Dequantize -> operator -> longshore.Quantize becomes the operator on codes; a clamp
/// before the Quantize becomes a narrower range; Dequantize -> Quantize becomes Requantize or
/// nothing. Float operators that are not followed by a Quantize stay.
Graph fold_dequantised(const Graph&);

}  // namespace longshore
