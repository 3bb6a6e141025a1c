// One load for several cores instead of one load each.
#pragma once
#include <vector>

#include "program/instruction.hpp"

namespace longshore::lower {

/// An instruction of a round, the tasks that cores do side by side; `tap`: for the comparison
/// alone.
struct RoundItem {
  Instruction instruction;
  bool tap = false;
};

/// Loads of the same bytes to the same addresses of several cores become one that writes into all
/// of them, in the place of the first, unless something in between would see the difference. The
/// cores take turns to do them; `shared` counts.
void share_loads(std::vector<RoundItem>& round, std::uint32_t& shared);

}  // namespace longshore::lower
