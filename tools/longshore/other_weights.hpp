#pragma once
#include <cstdint>
#include <optional>

#include "compare_bundle.hpp"

namespace longshore {

/// The same net with int8 weights, their scales and biases drawn at random, so that every layer
/// reaches all codes. Its instructions are those of `b`; nothing where they are not, or where no
/// layer has weights of its own.
std::optional<ComparedBundle> with_other_weights(const ComparedBundle& b, std::uint64_t seed);

}  // namespace longshore
