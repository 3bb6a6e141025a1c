#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace longshore::plan {

inline constexpr std::uint32_t no_buffer = 0xffffffffu;

/// A piece of memory that is needed from step `first` to step `last`, both included.
struct Buffer {
  std::uint64_t bytes = 0;
  std::uint32_t first = 0, last = 0;
  /// A buffer whose last step is this one's first and whose bytes this one may take over: an
  /// element-wise step that overwrites its input. A hint; it is ignored where it does not pay.
  std::uint32_t in_place_of = no_buffer;
};

/// Where each buffer lies. Offsets are multiples of the alignment.
struct Arena {
  std::vector<std::uint64_t> offsets;
  std::uint64_t bytes = 0;        // the end of the last buffer
  std::uint64_t lower_bound = 0;  // the most bytes alive at one step: no plan needs less
};

/// Places buffers so that two that live at a common step do not overlap (except for in-place
/// pairs). Best fit, largest first; several orders are tried and the smallest result is taken, and
/// changed at random (with a fixed seed) while it lies above the lower bound.
/// The buffers' order decides ties, so equal input gives equal output.
Arena plan_arena(std::span<const Buffer>, std::uint64_t alignment = 64);

}  // namespace longshore::plan
