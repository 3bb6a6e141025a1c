// What src/sim/instructions/<name>.cpp defines: the exact bytes of an instruction and its time.
// Shares tensor/requantise.hpp with the reference and nothing else; reads and writes the simulated
// memories only.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "program/instruction_def.hpp"
#include "sim/costs.hpp"
#include "sim/memory.hpp"

namespace longshore {

/// Buffers that instructions reuse: the input tile widened to int16 with its zero point taken off,
/// the weights in the order of the inner loop, accumulators.
struct Workspace {
  std::vector<std::int16_t> input, weights;
  std::vector<std::int32_t> accumulators;
  bool portable = false;  // true: no instructions beyond the build's baseline, for tests
};

/// What an instruction works on.
struct Execution {
  Queue queue;
  std::byte* sram;  // of its core
  NpuMemory& memory;
  Workspace& workspace;
};

/// An instruction that does something. Control instructions have none: src/sim/schedule.cpp is
/// theirs.
struct ExecutionDef {
  const InstructionDef* instruction;
  /// Cycles of MAC array or vector unit, without dispatch. Null for a transfer.
  double (*cycles)(const void*, const Machine&) = nullptr;
  /// A transfer between SRAM and DRAM: what it asks of them. `write`: towards the DRAM.
  DmaCost (*transfer)(const void*, const Machine&, bool write) = nullptr;
  /// After `check`. Fails where what it reads makes no sense, such as an index table.
  Status (*execute)(const void*, Execution&);
};

namespace executions {
/// All, by the names of their files.
std::span<const ExecutionDef* const> all();
}  // namespace executions

/// Null for control instructions.
const ExecutionDef* execution_of(const Operation&) noexcept;

/// A vector unit's lanes are 8 bits wide: a wider element takes several.
inline std::size_t lanes_of(const Tile& t) noexcept { return size_bytes(t.dtype); }

/// Lanes that the elements of an instruction with height, width and channels take.
template <class O>
std::uint64_t elements_of(const O& o) noexcept {
  return std::uint64_t{o.height} * o.width * o.channels * std::max(lanes_of(o.in), lanes_of(o.out));
}

inline const std::byte* pixel(const std::byte* sram, const Tile& t, std::uint64_t y,
                              std::uint64_t x) noexcept {
  return sram + t.address + y * t.row_stride + x * t.pixel_stride;
}
inline std::byte* pixel(std::byte* sram, const Tile& t, std::uint64_t y, std::uint64_t x) noexcept {
  return sram + t.address + y * t.row_stride + x * t.pixel_stride;
}

}  // namespace longshore
