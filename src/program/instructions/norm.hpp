#pragma once
#include "program/instruction.hpp"
#include "program/vector_function.hpp"

namespace longshore {

namespace instructions {
extern const InstructionDef instruction_norm;
}
namespace vector_unit {
extern const VectorFunction norm;
}

/// Each pixel's channels are a row of norm_row (tensor/norm_codes.hpp), whose scales are `channels`
/// floats at `parameters`, followed by as many biases. Queue vector. In place is allowed.
struct Norm {
  static constexpr const InstructionDef& def = instructions::instruction_norm;
  Tile in, out;
  std::uint32_t height = 1, width = 1, channels = 1;
  std::uint32_t parameters = 0;
  float in_scale = 1;
  std::int32_t in_zero = 0;
  float epsilon = 0;
  bool subtract_mean = true;
  float out_scale = 1;
  std::int32_t out_zero = 0, lowest = -128, highest = 127;
  bool operator==(const Norm&) const = default;
};

}  // namespace longshore
