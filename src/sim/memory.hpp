#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.hpp"
#include "program/access.hpp"

namespace longshore {

/// The bytes that a simulated NPU works on. Without a coherent cache the CPU has its own view of
/// the arena, which only clean and invalidate steps carry to and from the DRAM.
class NpuMemory {
 public:
  /// `constants` must outlive the memory. `poison` keeps a flag per byte of SRAM and DRAM, so that
  /// a read of a byte that nobody wrote is an error.
  NpuMemory(const Machine&, std::uint64_t arena_bytes, std::span<const std::byte> constants,
            bool poison);

  /// Everything unwritten again; every byte is `fresh_byte`.
  void reset() noexcept;
  static constexpr std::byte fresh_byte{0xa5};

  std::span<std::byte> sram(int core) noexcept { return sram_[static_cast<std::size_t>(core)]; }
  std::span<std::byte> dram() noexcept {
    return shared_.empty() ? std::span<std::byte>(dram_) : shared_;
  }
  /// Works on the CPU's own view from now on, as a coherent machine must. It is not reset.
  void share(std::span<std::byte> view) noexcept { shared_ = view; }
  std::span<const std::byte> constants() const noexcept { return constants_; }

  /// The CPU wrote these bytes of its view: their lines are dirty.
  void cpu_wrote(std::uint64_t offset, std::uint64_t bytes) noexcept;
  /// Copies the dirty lines of the range from the CPU's view into DRAM. The range is whole lines.
  void clean(std::span<const std::byte> view, std::uint64_t offset, std::uint64_t bytes) noexcept;
  /// Copies the range from DRAM into the CPU's view; dirty lines are lost.
  void invalidate(std::span<std::byte> view, std::uint64_t offset, std::uint64_t bytes) noexcept;

  /// With poison: every byte that the instruction reads was written; then marks what it writes.
  Status track(const Instruction&) noexcept;

 private:
  void mark_dram(std::uint64_t offset, std::uint64_t bytes) noexcept;

  std::vector<std::vector<std::byte>> sram_;
  std::vector<std::byte> dram_;
  std::span<std::byte> shared_;
  std::span<const std::byte> constants_;
  std::uint64_t line_bytes_;
  std::vector<bool> dirty_;  // per line of the arena
  bool poison_;
  std::vector<std::vector<unsigned char>> sram_written_;
  std::vector<unsigned char> dram_written_;
};

}  // namespace longshore
