#pragma once
#include <functional>

#include "ir/graph.hpp"

namespace longshore {

/// The same function in the shape that quantize works on, for those nodes that `wanted` names:
/// fused activations without integer form and fused residuals become nodes of their own; constant
/// weights of matrix products get their output channels on axis 0 and take in alpha and beta; a
/// bias that broadcasts becomes a vector.
Graph prepare_for_quantisation(const Graph&, const std::function<bool(const Node&)>& wanted);

}  // namespace longshore
