#pragma once
#include "program/instruction.hpp"

namespace longshore {

namespace instructions {
extern const InstructionDef instruction_mark;
}

/// A time stamp for the profile: the engine begins or ends the instruction's layer. Any queue.
struct Mark {
  static constexpr const InstructionDef& def = instructions::instruction_mark;
  bool begin = true;
  bool operator==(const Mark&) const = default;
};

}  // namespace longshore
