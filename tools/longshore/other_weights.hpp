#pragma once
#include <cstdint>
#include <optional>

#include "compare_bundle.hpp"

namespace longshore {

/// The same net with int8 weights, biases and weight scales drawn at random, of another magnitude in each output
/// channel, so that every layer reaches all codes. Its instructions are those of `b`; nothing where
/// they are not, or where no layer has weights.
std::optional<ComparedBundle> with_other_weights(const ComparedBundle& b, std::uint64_t seed);

}  // namespace longshore
