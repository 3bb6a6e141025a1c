#pragma once
#include "program/instruction.hpp"
#include "program/vector_function.hpp"

namespace longshore {

namespace instructions {
extern const InstructionDef instruction_requantise;
}
namespace vector_unit {
extern const VectorFunction requantise;
}

/// out = quantise(dequantise(in, in_scale, in_zero), out_scale, out_zero, lowest, highest).
/// Queue vector. In place is allowed.
struct Requantise {
  static constexpr const InstructionDef& def = instructions::instruction_requantise;
  Tile in, out;
  std::uint32_t height = 1, width = 1, channels = 1;
  float in_scale = 1, out_scale = 1;
  std::int32_t in_zero = 0, out_zero = 0, lowest = -128, highest = 127;
  bool operator==(const Requantise&) const = default;
};

}  // namespace longshore
