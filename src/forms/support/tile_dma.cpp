#include "forms/support/tile_dma.hpp"

#include <algorithm>

#include "forms/support/transfer.hpp"
#include "sim/costs.hpp"

namespace longshore::forms {

double tile_dma_ns(const Machine& m, std::uint64_t address,
                   const std::array<std::uint64_t, 4>& stride, std::int64_t rows,
                   std::int64_t columns, std::int64_t channels, std::int64_t element_bytes,
                   bool write) {
  const TileShape shape = tile_shape(m, rows, columns, channels, element_bytes);
  Dma base;
  base.dram_address = address;
  double ns = 0;
  for (const Dma& part :
       transfers(base,
                 {{rows, stride[1], static_cast<std::uint64_t>(shape.row_stride())},
                  {columns, stride[2], static_cast<std::uint64_t>(shape.pixel_stride)},
                  {channels, stride[3], static_cast<std::uint64_t>(element_bytes)}},
                 element_bytes, m.dma_dims)) {
    const DmaCost c = dma_cost(m, part, write);
    ns += static_cast<double>(c.dram_bytes) /
          std::min(c.bytes_per_ns, c.server_gb_per_s(m) / c.dram_share);
  }
  return ns;
}

}  // namespace longshore::forms
