#include "program/instructions/softmax.hpp"

#include <cstring>

#include "sim/execution.hpp"
#include "tensor/softmax_codes.hpp"

namespace longshore::executions {
namespace {

Status execute(const Softmax& o, Execution& on) {
  SoftmaxTable table;
  std::memcpy(table.e, on.sram + o.table, sizeof table.e);
  const SoftmaxOutput to{o.out_scale, o.out_zero, o.lowest, o.highest};
  for (std::uint64_t y = 0; y < o.height; y++)
    for (std::uint64_t x = 0; x < o.width; x++)
      softmax_row(reinterpret_cast<const std::int8_t*>(pixel(on.sram, o.in, y, x)),
                  reinterpret_cast<std::int8_t*>(pixel(on.sram, o.out, y, x)), o.channels, 1, table,
                  to);
  return {};
}

double cycles(const Softmax& o, const Machine& m) {
  return vector_cycles(m, vector_unit::softmax, std::uint64_t{o.height} * o.width * o.channels);
}

}  // namespace

extern constinit const ExecutionDef execution_softmax = {
    .instruction = &Softmax::def,
    .cycles = erased<cycles>,
    .execute = erased<execute>,
};

}  // namespace longshore::executions
