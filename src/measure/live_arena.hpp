#pragma once
#include <cstdint>
#include <vector>

#include "sim/schedule.hpp"

namespace longshore {

/// From `ns` on, until the next, that many bytes are live.
struct LiveBytes {
  double ns = 0;
  std::uint64_t bytes = 0;
};

/// Bytes of the arena that hold something which is still read: each from the beginning of the write
/// to the end of the last read before the next write; outputs to the end. Counted in pieces of 64
/// bytes, to which values are aligned, or more in arenas above 64 MiB.
std::vector<LiveBytes> live_arena(const Program&, const Timing&);

}  // namespace longshore
