// Proves a program free of races, stale reads, reads of unwritten bytes, overflow, misalignment and
// deadlock, for every timing. docs/sim.md states the rules.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "program/access.hpp"
#include "sim/order.hpp"

namespace longshore {

/// Why a program may not run.
struct Refusal {
  enum class Kind : std::uint8_t {
    malformed,  // a number out of range, misaligned, or a tile that leaves its memory
    semaphore,  // given and taken do not match, or more than one engine on a side
    deadlock,
    race,       // two accesses to a byte, one a write, with no order between them
    unwritten,  // a read of a byte that nobody wrote
    stale,      // CPU and NPU share a byte without the clean or invalidate between
    lost,  // a dirty line of the CPU may overwrite, or an invalidate may drop, what was written
  };
  Kind kind = Kind::malformed;
  Location first, second;  // the earlier and the later access; second may be absent
  Space space = Space::sram;
  std::uint32_t core = 0;            // of the SRAM
  std::uint64_t begin = 0, end = 0;  // bytes [begin, end) of `space`; equal: no bytes at stake
  std::string text;                  // names both in full
};
const char* name(Refusal::Kind) noexcept;

/// All refusals, at most `most`, in program order; empty: the program is sound.
std::vector<Refusal> verify(const Program&, std::size_t most = 16);

/// The first refusal as a Status.
Status verified(const Program&);

}  // namespace longshore
