// The exact bytes of each instruction. Shares tensor/requantise.hpp with the reference and nothing
// else; reads and writes the simulated memories only.
#pragma once
#include <cstdint>
#include <vector>

#include "sim/memory.hpp"

namespace longshore {

/// Buffers that instructions reuse: the input tile widened to int16 with its zero point taken off,
/// the weights in the order of the inner loop, accumulators.
struct Workspace {
  std::vector<std::int16_t> input, weights;
  std::vector<std::int32_t> accumulators;
  bool portable = false;  // true: no instructions beyond the build's baseline, for tests
};

/// Runs one instruction; control instructions do nothing. It must have passed `check`.
Status execute(const Instruction&, NpuMemory&, Workspace&) noexcept;

/// The parts, on the SRAM of the instruction's core.
Status execute_conv(const Conv&, std::int8_t* sram, Workspace&) noexcept;
Status execute_vector(const Operation&, std::int8_t* sram) noexcept;

}  // namespace longshore
