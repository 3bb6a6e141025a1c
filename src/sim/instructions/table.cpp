#include "program/instructions/table.hpp"

#include <cstring>

#include "sim/codes.hpp"
#include "sim/execution.hpp"
#include "tensor/table_codes.hpp"

namespace longshore::executions {
namespace {

void run_wide(const Table& o, std::byte* sram) {
  std::int16_t entries[wide_table_entries];
  std::memcpy(entries, sram + o.table, sizeof entries);
  for (std::uint64_t y = 0; y < o.height; y++)
    for (std::uint64_t x = 0; x < o.width; x++) {
      const std::byte* in = pixel(sram, o.in, y, x);
      std::byte* out = pixel(sram, o.out, y, x);
      for (std::size_t c = 0; c < o.channels; c++)
        put_code<std::int16_t>(out, c, interpolated(entries, code_at<std::int16_t>(in, c)));
    }
}

Status execute(const Table& o, Execution& on) {
  if (o.in.dtype == DType::i16) {
    run_wide(o, on.sram);
    return {};
  }
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
  return vector_cycles(m, vector_unit::table, elements_of(o));
}

}  // namespace

extern constinit const ExecutionDef execution_table = {
    .instruction = &Table::def,
    .cycles = erased<cycles>,
    .execute = erased<execute>,
};

}  // namespace longshore::executions
