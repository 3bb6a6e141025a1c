#include "program/instructions/softmax.hpp"

#include <cstring>

#include "sim/codes.hpp"
#include "sim/execution.hpp"
#include "tensor/softmax_codes.hpp"

namespace longshore::executions {
namespace {

void run_wide(const Softmax& o, std::byte* sram) {
  WideSoftmaxTable table;
  std::memcpy(table.e, sram + o.table, sizeof table.e);
  table.shift = o.shift;
  const SoftmaxOutput to{o.out_scale, o.out_zero, o.lowest, o.highest};
  for (std::uint64_t y = 0; y < o.height; y++)
    for (std::uint64_t x = 0; x < o.width; x++)
      visit_type(CodeTypes{}, o.out.dtype, [&]<class Out>() {
        wide_softmax_row(reinterpret_cast<const std::int16_t*>(pixel(sram, o.in, y, x)),
                         reinterpret_cast<Out*>(pixel(sram, o.out, y, x)), o.channels, 1, table,
                         to);
      });
}

Status execute(const Softmax& o, Execution& on) {
  if (o.in.dtype == DType::i16) {
    run_wide(o, on.sram);
    return {};
  }
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
  return vector_cycles(m, vector_unit::softmax, elements_of(o));
}

}  // namespace

extern constinit const ExecutionDef execution_softmax = {
    .instruction = &Softmax::def,
    .cycles = erased<cycles>,
    .execute = erased<execute>,
};

}  // namespace longshore::executions
