#pragma once
#include "program/instruction.hpp"

namespace longshore {

namespace instructions {
extern const InstructionDef instruction_wait;
}

/// Blocks the engine until the semaphore counts at least `count`, then subtracts it. A semaphore
/// has one engine (or the CPU) that signals it and one that waits for it; it is 0 at the start and
/// must be 0 at the end. Any queue.
struct Wait {
  static constexpr const InstructionDef& def = instructions::instruction_wait;
  std::uint32_t semaphore = 0, count = 1;
  bool operator==(const Wait&) const = default;
};

}  // namespace longshore
