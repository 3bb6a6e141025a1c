// Which bytes an instruction reads and writes. The bounds check, the verifier, the simulator's
// poison mode, energy and DRAM traffic share this one description.
#pragma once
#include <cstdint>

#include "program/instruction.hpp"

namespace longshore {

/// The memories that instructions name.
enum class Space : std::uint8_t { sram, arena, constants };
const char* name(Space) noexcept;

/// count[0] * count[1] * count[2] runs of `run` bytes.
struct Region {
  /// Of Space::sram, until regions_of tells which it is: the core whose queue the instruction is
  /// in.
  static constexpr std::uint8_t own_core = 255;

  Space space = Space::sram;
  bool write = false;
  const char* operand = "";  // the field that holds the address
  std::uint64_t address = 0, run = 0;
  std::uint64_t count[3] = {1, 1, 1};
  std::uint64_t stride[3] = {};
  std::uint32_t element = 1;     // bytes; address and strides are multiples
  bool in_place = false;         // a read that the write of the same instruction may coincide with
  bool restricted = false;       // a read that not all bytes make sense for, as an index table
  std::uint8_t core = own_core;  // of Space::sram: whose

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

/// The regions of one instruction. What does not fit is left out, and `check` refuses it.
struct Regions {
  static constexpr int capacity = 8;
  Region items[capacity];
  int count = 0;
  bool overflow = false;

  void add(const Region& region) noexcept {
    if (region.empty()) return;
    if (count < capacity)
      items[count++] = region;
    else
      overflow = true;
  }
  const Region* begin() const noexcept { return items; }
  const Region* end() const noexcept { return items + count; }
};

/// Reads first, then writes. Index tables and lookup tables count with all their bytes. Those in
/// SRAM say whose.
Regions regions_of(const Instruction&) noexcept;

/// Whether the two share a byte: exact, not by bounding box. Both lie in memory: ends are below
/// 2^62.
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

/// A tile of `channels` elements per pixel: the one place where its dtype becomes bytes.
Region tile_region(const char* operand, const Tile&, std::uint64_t height, std::uint64_t width,
                   std::uint64_t channels) noexcept;
/// Bytes that lie side by side in SRAM.
Region plain_region(const char* operand, std::uint64_t address, std::uint64_t bytes,
                    std::uint32_t element = 1) noexcept;

inline Region written(Region r) noexcept {
  r.write = true;
  return r;
}
inline Region restricted(Region r) noexcept {
  r.restricted = true;
  return r;
}
/// A read whose every element is done with before the same instruction writes there.
inline Region in_place(Region r, bool allowed = true) noexcept {
  r.in_place = allowed;
  return r;
}

}  // namespace longshore
