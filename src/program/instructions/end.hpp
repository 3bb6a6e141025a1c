#pragma once
#include "program/instruction.hpp"

namespace longshore {

/// The last instruction of an engine (queue and core). May be left out.
struct End {
  static constexpr const InstructionDef& def = instructions::instruction_end;
  bool operator==(const End&) const = default;
};

}  // namespace longshore
