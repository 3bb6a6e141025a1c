#pragma once
#include "program/instruction.hpp"

namespace longshore {

namespace instructions {
extern const InstructionDef instruction_dma;
}

/// Where a DMA's far side lies; its near side is the core's SRAM.
enum class Dram : std::uint8_t { arena, constants };

/// Moves count[0] * count[1] * count[2] runs of run_bytes; run (i, j, k) is at
/// address + i * stride[0] + j * stride[1] + k * stride[2] on each side. Queue dma_in: DRAM to
/// SRAM; queue dma_out: SRAM to the arena (constants cannot be written). A stride of 0 on the
/// source broadcasts. One load may write the same bytes to the same addresses of several cores. A
/// layout change is a matter of strides: NCHW to NHWC of bytes is run_bytes = 1, count = {C, H, W},
/// dram_stride = {H * W, W, 1}, sram_stride = {1, row, pixel}.
struct Dma {
  static constexpr const InstructionDef& def = instructions::instruction_dma;
  Dram dram = Dram::arena;
  std::uint64_t dram_address = 0;  // bytes from the start of the arena or the constants
  std::uint64_t dram_stride[3] = {};
  std::uint32_t sram_address = 0;
  std::uint32_t sram_stride[3] = {};
  std::uint32_t count[3] = {1, 1, 1};
  std::uint32_t run_bytes = 0;
  std::uint32_t cores = 0;  // of a load: bit i: into the SRAM of core i; 0: into its own core's
  bool operator==(const Dma&) const = default;
};

}  // namespace longshore
