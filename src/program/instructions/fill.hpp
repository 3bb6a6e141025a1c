#pragma once
#include "program/instruction.hpp"
#include "program/vector_function.hpp"

namespace longshore {

namespace instructions {
extern const InstructionDef instruction_fill;
}
namespace vector_unit {
extern const VectorFunction fill;
}

/// Writes `value` into count[0] * count[1] * count[2] runs of run_bytes. Queue dma_in or vector.
struct Fill {
  static constexpr const InstructionDef& def = instructions::instruction_fill;
  std::uint32_t address = 0;
  std::uint32_t stride[3] = {};
  std::uint32_t count[3] = {1, 1, 1};
  std::uint32_t run_bytes = 0;
  std::int8_t value = 0;
  bool operator==(const Fill&) const = default;
};

}  // namespace longshore
