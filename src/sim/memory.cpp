#include "sim/memory.hpp"

#include <algorithm>
#include <cstring>

namespace longshore {

NpuMemory::NpuMemory(const Machine& machine, std::uint64_t arena_bytes,
                     std::span<const std::byte> constants, bool poison)
    : sram_(machine.cores, std::vector<std::byte>(machine.sram_bytes)),
      dram_(machine.coherent ? 0 : arena_bytes),
      constants_(constants),
      line_bytes_(std::max(machine.cache_line_bytes, 1u)),
      dirty_(static_cast<std::size_t>(arena_bytes / line_bytes_) + 1),
      poison_(poison) {
  if (poison) {
    sram_written_.assign(machine.cores, std::vector<unsigned char>(machine.sram_bytes));
    dram_written_.resize(arena_bytes);
  }
  reset();
}

void NpuMemory::reset() noexcept {
  for (auto& sram : sram_) std::fill(sram.begin(), sram.end(), fresh_byte);
  std::fill(dram_.begin(), dram_.end(), fresh_byte);
  std::fill(dirty_.begin(), dirty_.end(), false);
  for (auto& written : sram_written_) std::fill(written.begin(), written.end(), 0);
  std::fill(dram_written_.begin(), dram_written_.end(), 0);
}

void NpuMemory::cpu_wrote(std::uint64_t offset, std::uint64_t bytes) noexcept {
  if (bytes == 0) return;
  if (!shared_.empty()) return mark_dram(offset, bytes);
  for (std::uint64_t i = offset / line_bytes_; i <= (offset + bytes - 1) / line_bytes_; i++)
    dirty_[i] = true;
}

void NpuMemory::clean(std::span<const std::byte> view, std::uint64_t offset,
                      std::uint64_t bytes) noexcept {
  for (std::uint64_t at = offset; at < offset + bytes; at += line_bytes_) {
    if (!dirty_[at / line_bytes_]) continue;
    const std::uint64_t n = std::min(line_bytes_, offset + bytes - at);
    std::memcpy(dram_.data() + at, view.data() + at, n);
    mark_dram(at, n);
    dirty_[at / line_bytes_] = false;
  }
}

void NpuMemory::invalidate(std::span<std::byte> view, std::uint64_t offset,
                           std::uint64_t bytes) noexcept {
  if (bytes == 0) return;
  std::memcpy(view.data() + offset, dram_.data() + offset, bytes);
  for (std::uint64_t i = offset / line_bytes_; i <= (offset + bytes - 1) / line_bytes_; i++)
    dirty_[i] = false;
}

void NpuMemory::mark_dram(std::uint64_t offset, std::uint64_t bytes) noexcept {
  if (poison_ && bytes > 0) std::memset(dram_written_.data() + offset, 1, bytes);
}

Status NpuMemory::track(const Instruction& instruction) noexcept {
  if (!poison_) return {};
  for (const Region& region : regions_of(instruction)) {
    if (region.space == Space::constants) continue;
    auto& written = region.space == Space::sram ? sram_written_[region.core] : dram_written_;
    std::uint64_t first = ~std::uint64_t{0};
    each_run(region, [&](std::uint64_t begin, std::uint64_t end) {
      if (region.write) {
        std::memset(written.data() + begin, 1, end - begin);
      } else if (const void* hole = std::memchr(written.data() + begin, 0, end - begin)) {
        const auto at =
            static_cast<std::uint64_t>(static_cast<const unsigned char*>(hole) - written.data());
        first = std::min(first, at);
      }
    });
    if (first != ~std::uint64_t{0})
      return Status::error(Code::bad_model,
                           "%s reads byte %llu of %s, which was never written (%s)",
                           name(instruction.operation), static_cast<unsigned long long>(first),
                           name(region.space), region.operand);
  }
  return {};
}

}  // namespace longshore
