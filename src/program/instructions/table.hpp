#pragma once
#include "program/instruction.hpp"
#include "program/vector_function.hpp"

namespace longshore {

namespace instructions {
extern const InstructionDef instruction_table;
}
namespace vector_unit {
extern const VectorFunction table;
}

/// out = table[in + 128], 256 int8 entries in SRAM; of 16-bit codes, in and out,
/// interpolated(table, in) (tensor/table_codes.hpp), 513 int16 entries. Queue vector. In place is
/// allowed.
struct Table {
  static constexpr const InstructionDef& def = instructions::instruction_table;
  Tile in, out;
  std::uint32_t height = 1, width = 1, channels = 1;
  std::uint32_t table = 0;
  bool operator==(const Table&) const = default;
};

}  // namespace longshore
