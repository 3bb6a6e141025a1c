#include "program/instructions/table.hpp"

#include <cstring>

#include "sim/execution.hpp"

namespace longshore::executions {
namespace {

Status execute(const Table& o, Execution& on) {
  std::int8_t entries[256];
  std::memcpy(entries, on.sram + o.table, 256);
  for (std::uint64_t y = 0; y < o.height; y++)
    for (std::uint64_t x = 0; x < o.width; x++) {
      const auto* in = reinterpret_cast<const std::int8_t*>(pixel(on.sram, o.in, y, x));
      auto* out = reinterpret_cast<std::int8_t*>(pixel(on.sram, o.out, y, x));
      for (std::uint32_t c = 0; c < o.channels; c++) out[c] = entries[in[c] + 128];
    }
  return {};
}

double cycles(const Table& o, const Machine& m) {
  return vector_cycles(m, vector_unit::table, std::uint64_t{o.height} * o.width * o.channels);
}

}  // namespace

extern constinit const ExecutionDef execution_table = {
    .instruction = &Table::def,
    .cycles = erased<cycles>,
    .execute = erased<execute>,
};

}  // namespace longshore::executions
