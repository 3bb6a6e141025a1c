// What instructions do to memory, and whether they may.
#pragma once
#include <cstdint>
#include <limits>
#include <string>

#include "base/status.hpp"
#include "program/program.hpp"
#include "program/region.hpp"

namespace longshore {

__extension__ typedef unsigned __int128 Wide;  // products of hostile extents and strides

/// Sizes that bounds are checked against.
struct MemorySizes {
  std::uint64_t arena = 0, constants = 0;
};

/// The machine's numbers are in their ranges; true for one that is not present.
Status check(const Machine&) noexcept;

/// Ranges, alignment and bounds of one instruction: after this its execution cannot leave memory.
Status check(const Machine&, const MemorySizes&, const Instruction&) noexcept;

/// `check` for every instruction, and for every step: semaphores, cache ranges, values. The message
/// names queue and index.
Status check(const Program&) noexcept;

}  // namespace longshore
