#include "sim/execute.hpp"

namespace longshore {

const ExecutionDef* execution_of(const Operation& operation) noexcept {
  for (const ExecutionDef* def : executions::all())
    if (def->instruction == &operation.def()) return def;
  return nullptr;
}

Status execute(const Instruction& instruction, NpuMemory& memory, Workspace& workspace) {
  if (is_control(instruction.operation)) return {};
  const ExecutionDef* def = execution_of(instruction.operation);
  if (def == nullptr)
    return Status::error(Code::internal, "the simulator cannot %s", name(instruction.operation));
  LONGSHORE_TRY(memory.track(instruction));
  Execution on{instruction.queue, memory.sram(instruction.core).data(), memory, workspace};
  return def->execute(instruction.operation.operands(), on);
}

}  // namespace longshore
