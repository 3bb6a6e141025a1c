#pragma once
#include "program/instruction.hpp"

namespace longshore {

namespace instructions {
extern const InstructionDef instruction_signal;
}

/// Adds `count` when every earlier instruction of the engine is done. Any queue.
struct Signal {
  static constexpr const InstructionDef& def = instructions::instruction_signal;
  std::uint32_t semaphore = 0, count = 1;
  bool operator==(const Signal&) const = default;
};

}  // namespace longshore
