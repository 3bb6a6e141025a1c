#pragma once
#include "program/instruction.hpp"
#include "program/vector_function.hpp"
#include "tensor/requantise.hpp"

namespace longshore {

namespace instructions {
extern const InstructionDef instruction_reduce;
}
namespace vector_unit {
extern const VectorFunction reduce;
}

/// Mean over height and width, possibly of several tiles. s(c) = start + sum of (in - in_zero),
/// where start = sum c of those at `accumulators` if `accumulate`, else 0; sums are int32, or int64
/// of 16-bit codes. If `finish`: out(c), one pixel at `out`, = requantise(s,
/// make_multiplier(in_scale, 1, out_scale * divisor), out_zero, lowest, highest, rounding);
/// otherwise s is stored into the accumulators. Queue vector.
struct Reduce {
  static constexpr const InstructionDef& def = instructions::instruction_reduce;
  bool accumulate = false, finish = true;
  Tile in;
  std::uint32_t height = 1, width = 1, channels = 1;
  std::int32_t in_zero = 0;
  std::uint32_t accumulators = 0, out = 0;
  std::uint32_t divisor = 1;  // elements of the whole mean
  float in_scale = 1, out_scale = 1;
  std::int32_t out_zero = 0, lowest = -128, highest = 127;
  Rounding rounding = Rounding::f32_even;
  bool operator==(const Reduce&) const = default;
};

}  // namespace longshore
