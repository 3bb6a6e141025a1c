#pragma once
#include <vector>

#include "program/instructions/dma.hpp"

namespace longshore::forms {

/// One loop of a transfer: `count` steps on both sides.
struct TransferLoop {
  std::int64_t count = 1;
  std::uint64_t dram_stride = 0, sram_stride = 0;
};

/// The DMA instructions that walk these loops over runs of `run` bytes: dense loops are merged,
/// what exceeds an instruction's dims or extents is split.
std::vector<Dma> transfers(Dma base, std::vector<TransferLoop> loops, std::int64_t run,
                           std::uint32_t dims);

}  // namespace longshore::forms
