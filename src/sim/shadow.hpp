#pragma once
#include <array>
#include <cstdint>
#include <vector>

namespace longshore {

/// Who wrote each byte of a memory last, and who read it since: event numbers + 1, 0 for none. Kept
/// per block of 64 bytes, per byte only where an access covered a part of a block.
class Shadow {
 public:
  static constexpr std::uint64_t block_bytes = 64;

  /// `readers`: engines that may read this memory.
  Shadow(std::uint64_t bytes, std::uint32_t readers)
      : width_(readers + 1),
        blocks_((bytes + block_bytes - 1) / block_bytes * width_),
        fine_((bytes + block_bytes - 1) / block_bytes, 0) {}

  /// Calls visit(begin, end, cell) for stretches of [begin, end) with one state; cell[0] is the
  /// last writer, cell[1 + r] the last reader r since. `visit` may change the cell. `whole`: the
  /// state is the same for all bytes afterwards (a write), so that a block covered wholly is one
  /// cell again.
  template <class Visit>
  void each(std::uint64_t begin, std::uint64_t end, bool whole, Visit&& visit) {
    for (std::uint64_t at = begin; at < end;) {
      const std::uint64_t block = at / block_bytes, block_begin = block * block_bytes;
      const std::uint64_t stop = end < block_begin + block_bytes ? end : block_begin + block_bytes;
      const bool covered = at == block_begin && stop == block_begin + block_bytes;
      if (fine_[block] == 0 && covered) {
        visit(at, stop, &blocks_[block * width_]);
      } else {
        if (fine_[block] == 0) refine(block);
        std::uint32_t* cells = bytes_[fine_[block] - 1].data();
        for (std::uint64_t b = at; b < stop; b++)
          visit(b, b + 1, cells + (b - block_begin) * width_);
        if (whole && covered) coarsen(block);
      }
      at = stop;
    }
  }

 private:
  void refine(std::uint64_t block) {
    if (free_.empty()) {
      bytes_.emplace_back(block_bytes * width_);
      fine_[block] = static_cast<std::uint32_t>(bytes_.size());
    } else {
      fine_[block] = free_.back();
      free_.pop_back();
    }
    auto& cells = bytes_[fine_[block] - 1];
    for (std::uint64_t b = 0; b < block_bytes; b++)
      for (std::uint32_t i = 0; i < width_; i++)
        cells[b * width_ + i] = blocks_[block * width_ + i];
  }
  void coarsen(std::uint64_t block) {
    const auto& cells = bytes_[fine_[block] - 1];
    for (std::uint32_t i = 0; i < width_; i++) blocks_[block * width_ + i] = cells[i];
    free_.push_back(fine_[block]);
    fine_[block] = 0;
  }

  std::uint32_t width_;
  std::vector<std::uint32_t> blocks_;  // width_ numbers each
  std::vector<std::uint32_t> fine_;    // 0: one cell; else 1 + index into bytes_
  std::vector<std::vector<std::uint32_t>> bytes_;
  std::vector<std::uint32_t> free_;
};

}  // namespace longshore
