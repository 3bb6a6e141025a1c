#pragma once
#include "program/instruction.hpp"
#include "program/vector_function.hpp"

namespace longshore {

namespace instructions {
extern const InstructionDef instruction_resize;
}
namespace vector_unit {
extern const VectorFunction resize;
}

/// Nearest neighbour: out(y, x, c) = in(row(y), column(x), c). factor_h > 0: row(y) =
/// (y + phase_h) / factor_h; factor_h == 0: row(y) is the uint16 (little endian) at
/// rows + 2 * y in SRAM; columns likewise. Rows and columns count inside the tile. Queue vector.
struct Resize {
  static constexpr const InstructionDef& def = instructions::instruction_resize;
  Tile in, out;
  std::uint32_t in_h = 1, in_w = 1, channels = 1, out_h = 1, out_w = 1;
  std::uint32_t factor_h = 1, factor_w = 1, phase_h = 0, phase_w = 0;
  std::uint32_t rows = 0, columns = 0;
  bool operator==(const Resize&) const = default;
};

}  // namespace longshore
