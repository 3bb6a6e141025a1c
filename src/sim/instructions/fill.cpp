#include "program/instructions/fill.hpp"

#include <cstring>

#include "program/runs.hpp"
#include "sim/execution.hpp"

namespace longshore::executions {
namespace {

Status execute(const Fill& o, Execution& on) {
  for (std::uint64_t i = 0; i < o.count[0]; i++)
    for (std::uint64_t j = 0; j < o.count[1]; j++)
      for (std::uint64_t k = 0; k < o.count[2]; k++)
        std::memset(on.sram + o.address + i * o.stride[0] + j * o.stride[1] + k * o.stride[2],
                    o.value, o.run_bytes);
  return {};
}

double cycles(const Fill& o, const Machine& m) {
  return vector_cycles(m, vector_unit::fill, bytes_of_runs(o));
}

}  // namespace

extern constinit const ExecutionDef execution_fill = {
    .instruction = &Fill::def,
    .cycles = erased<cycles>,
    .execute = erased<execute>,
};

}  // namespace longshore::executions
