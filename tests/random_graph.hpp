#pragma once
#include <random>

#include "ir/op.hpp"

namespace longshore::tests {

/// A small random float graph: convolutions with what usually follows them, element-wise chains,
/// data movement, paddings, splits, shape arithmetic, If, and copies of earlier nodes. Its inputs
/// are f32 [1,C,H,W] tensors and a bool.
Graph random_graph(std::mt19937& random);

}  // namespace longshore::tests
