#include "program/instructions/copy.hpp"

#include "program/runs.hpp"
#include "sim/execution.hpp"
#include "sim/runs.hpp"

namespace longshore::executions {
namespace {

Status execute(const Copy& o, Execution& on) {
  move_runs({on.sram + o.from, {o.from_stride[0], o.from_stride[1], o.from_stride[2]}},
            {on.sram + o.to, {o.to_stride[0], o.to_stride[1], o.to_stride[2]}}, o.count,
            o.run_bytes);
  return {};
}

double cycles(const Copy& o, const Machine& m) {
  return vector_cycles(m, vector_unit::copy, bytes_of_runs(o));
}

}  // namespace

extern constinit const ExecutionDef execution_copy = {
    .instruction = &Copy::def,
    .cycles = erased<cycles>,
    .execute = erased<execute>,
};

}  // namespace longshore::executions
