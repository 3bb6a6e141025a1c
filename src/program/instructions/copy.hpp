#pragma once
#include "program/instruction.hpp"
#include "program/vector_function.hpp"

namespace longshore {

namespace instructions {
extern const InstructionDef instruction_copy;
}
namespace vector_unit {
extern const VectorFunction copy;
}

/// SRAM to SRAM, as Dma but on the vector queue. The regions must not overlap.
struct Copy {
  static constexpr const InstructionDef& def = instructions::instruction_copy;
  std::uint32_t from = 0, to = 0;
  std::uint32_t from_stride[3] = {}, to_stride[3] = {};
  std::uint32_t count[3] = {1, 1, 1};
  std::uint32_t run_bytes = 0;
  bool operator==(const Copy&) const = default;
};

}  // namespace longshore
