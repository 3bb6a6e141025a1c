#pragma once
#include "program/instruction.hpp"
#include "program/vector_function.hpp"

namespace longshore {

namespace instructions {
extern const InstructionDef instruction_softmax;
}
namespace vector_unit {
extern const VectorFunction softmax;
}

/// Each pixel's channels are a row of softmax_row (tensor/softmax_codes.hpp): 256 uint32 at `table`
/// are its exponentials. Of 16-bit codes it is a row of wide_softmax_row, whose 513 uint32 stand
/// 2^shift codes apart. Queue vector. In place is allowed.
struct Softmax {
  static constexpr const InstructionDef& def = instructions::instruction_softmax;
  Tile in, out;
  std::uint32_t height = 1, width = 1, channels = 1;
  std::uint32_t table = 0, shift = 0;
  float out_scale = 1;
  std::int32_t out_zero = 0, lowest = -128, highest = 127;
  bool operator==(const Softmax&) const = default;
};

}  // namespace longshore
