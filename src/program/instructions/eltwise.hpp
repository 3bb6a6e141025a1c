#pragma once
#include "program/instruction.hpp"
#include "program/vector_function.hpp"

namespace longshore {

namespace instructions {
extern const InstructionDef instruction_eltwise;
}
namespace vector_unit {
extern const VectorFunction add, multiply;
}

/// out = quantise(dequantise(a) op dequantise(b), out_scale, out_zero, lowest, highest) in float32.
/// Strides of 0 broadcast; *_channel_stride counts elements and is 1, or 0 for one value over all
/// channels. Queue vector.
struct Eltwise {
  static constexpr const InstructionDef& def = instructions::instruction_eltwise;
  enum class Function : std::uint8_t { add, subtract, multiply };
  Function function = Function::add;
  Tile a, b, out;
  std::uint32_t a_channel_stride = 1, b_channel_stride = 1;
  std::uint32_t height = 1, width = 1, channels = 1;
  float a_scale = 1, b_scale = 1, out_scale = 1;
  std::int32_t a_zero = 0, b_zero = 0, out_zero = 0, lowest = -128, highest = 127;
  bool operator==(const Eltwise&) const = default;
};

}  // namespace longshore
