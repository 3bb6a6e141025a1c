#pragma once
#include <cstdint>

namespace longshore {

/// What one run hands to the next without the caller: output `output` becomes input `input`. Both
/// are places in the lists of the graph or program. The first run, and the one after a reset, sees
/// zeros.
struct StateSlot {
  std::uint32_t input = 0, output = 0;
  std::uint64_t capacity = 0;  // bytes that are kept for it; 0: what its dims need
  bool operator==(const StateSlot&) const = default;
};

}  // namespace longshore
