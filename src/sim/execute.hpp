#pragma once
#include "sim/execution.hpp"

namespace longshore {

/// Runs one instruction; control instructions do nothing. It must have passed `check`.
Status execute(const Instruction&, NpuMemory&, Workspace&);

}  // namespace longshore
