// Which bytes an instruction reads and writes. The bounds check, the verifier and the simulator's
// poison mode share this one description.
#pragma once
#include <cstdint>
#include <limits>
#include <string>

#include "base/status.hpp"
#include "program/program.hpp"

namespace longshore {

__extension__ typedef unsigned __int128 Wide;  // products of hostile extents and strides

/// The memories that instructions name.
enum class Space : std::uint8_t { sram, arena, constants };
const char* name(Space) noexcept;

/// count[0] * count[1] * count[2] runs of `run` bytes.
struct Region {
  Space space = Space::sram;
  bool write = false;
  const char* operand = "";  // the field that holds the address
  std::uint64_t address = 0, run = 0;
  std::uint64_t count[3] = {1, 1, 1};
  std::uint64_t stride[3] = {};

  bool empty() const noexcept {
    return run == 0 || count[0] == 0 || count[1] == 0 || count[2] == 0;
  }
  std::uint64_t bytes() const noexcept { return count[0] * count[1] * count[2] * run; }
  /// One past the last byte; saturates.
  std::uint64_t end() const noexcept;
  /// Sorts loops by stride, merges dense ones, drops loops of one: few long runs where possible.
  Region merged() const noexcept;
  /// No two runs share a byte. Holds after `merged` for every nesting of dense loops.
  bool disjoint_runs() const noexcept;
};

struct Regions {
  Region items[8];
  int count = 0;
  void add(const Region& region) noexcept {
    if (!region.empty()) items[count++] = region;
  }
  const Region* begin() const noexcept { return items; }
  const Region* end() const noexcept { return items + count; }
};

/// Reads first, then writes. Index tables and lookup tables count with all their bytes.
Regions regions_of(const Instruction&) noexcept;

/// Whether the two share a byte: exact, not by bounding box.
bool overlap(const Region&, const Region&) noexcept;

/// Calls visit(begin, end) for each run of a region; run order is unspecified.
template <class Visit>
void each_run(const Region& region, Visit&& visit) {
  const Region r = region.merged();
  for (std::uint64_t i = 0; i < r.count[0]; i++)
    for (std::uint64_t j = 0; j < r.count[1]; j++)
      for (std::uint64_t k = 0; k < r.count[2]; k++) {
        const std::uint64_t at = r.address + i * r.stride[0] + j * r.stride[1] + k * r.stride[2];
        visit(at, at + r.run);
      }
}

/// Multiply-accumulates that the instruction asks for (padding taps included); 0 outside queue mac.
std::uint64_t macs(const Operation&) noexcept;

/// wait, signal, mark, end.
inline bool is_control(const Operation& operation) noexcept { return operation.index() >= 10; }
static_assert(std::is_same_v<std::variant_alternative_t<10, Operation>, Wait>);

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
