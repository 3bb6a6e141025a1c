#include "forms/support/transfer.hpp"

#include <algorithm>

namespace longshore::forms {

std::vector<Dma> transfers(Dma base, std::vector<TransferLoop> loops, std::int64_t run,
                           std::uint32_t dims) {
  std::erase_if(loops, [](const TransferLoop& l) { return l.count == 1; });
  // Innermost last; a loop that continues the run on both sides becomes part of it.
  std::ranges::stable_sort(loops, [](const TransferLoop& a, const TransferLoop& b) {
    return a.sram_stride > b.sram_stride;
  });
  while (!loops.empty() && loops.back().dram_stride == static_cast<std::uint64_t>(run) &&
         loops.back().sram_stride == static_cast<std::uint64_t>(run) &&
         run * loops.back().count <= max_extent) {
    run *= loops.back().count;
    loops.pop_back();
  }
  std::vector<Dma> out;
  // Loops beyond the hardware's, and counts beyond an extent, are unrolled.
  const std::size_t most = std::min<std::size_t>(3, dims > 0 ? dims - 1 : 0);
  if (loops.size() > most || (!loops.empty() && loops.front().count > max_extent)) {
    TransferLoop outer = loops.front();
    const std::int64_t step = loops.size() > most ? 1 : max_extent;
    for (std::int64_t i = 0; i < outer.count; i += step) {
      Dma at = base;
      at.dram_address += static_cast<std::uint64_t>(i) * outer.dram_stride;
      at.sram_address +=
          static_cast<std::uint32_t>(static_cast<std::uint64_t>(i) * outer.sram_stride);
      std::vector<TransferLoop> rest = loops;
      rest.front().count = std::min(step, outer.count - i);
      for (Dma& d : transfers(at, std::move(rest), run, dims)) out.push_back(d);
    }
    return out;
  }
  for (std::size_t i = 0; i < loops.size(); i++) {
    const std::size_t to = 3 - loops.size() + i;
    base.count[to] = static_cast<std::uint32_t>(loops[i].count);
    base.dram_stride[to] = loops[i].dram_stride;
    base.sram_stride[to] = static_cast<std::uint32_t>(loops[i].sram_stride);
  }
  base.run_bytes = static_cast<std::uint32_t>(run);
  out.push_back(base);
  return out;
}

}  // namespace longshore::forms
