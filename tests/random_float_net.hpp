#pragma once
#include <random>

#include "ir/op.hpp"

namespace longshore::tests {

/// A small random float net for quantisation: two to eight operators of all that have a quantised
/// form, over values of rank 1 to 5, batch often above 1, one to three outputs. Half of the nets
/// start with an operator's own example, so that its attribute forms occur. Numbers stay in ranges
/// that 8 bits can follow: a logarithm gets positive numbers.
Graph random_float_net(std::mt19937& random);

}  // namespace longshore::tests
