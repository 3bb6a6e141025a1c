#pragma once

namespace longshore {

/// An NPU in plain numbers, as the planner, the simulator and the verifier need them. src/target
/// reads it from a target file.
struct Machine {
  bool present = false;
};

}  // namespace longshore
