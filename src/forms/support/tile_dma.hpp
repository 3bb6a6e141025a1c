#pragma once
#include <array>

#include "forms/support/geometry.hpp"

namespace longshore::forms {

/// Nanoseconds that the DMA instructions of a tile stream, by sim/costs.hpp: neither set-up nor
/// latency, and nobody else on the DRAM. `stride`: bytes in DRAM between neighbours along n, h, w
/// and c, of which a tile walks the last three; `address`: where it begins there; `write`: to DRAM.
double tile_dma_ns(const Machine&, std::uint64_t address,
                   const std::array<std::uint64_t, 4>& stride, std::int64_t rows,
                   std::int64_t columns, std::int64_t channels, std::int64_t element_bytes,
                   bool write);

}  // namespace longshore::forms
