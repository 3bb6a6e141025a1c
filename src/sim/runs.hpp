#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace longshore {

/// One side of a move: the first run, and the strides of three loops.
struct RunSide {
  std::byte* data;
  std::uint64_t stride[3];
};

inline void move_runs(const RunSide& from, const RunSide& to, const std::uint32_t (&count)[3],
                      std::size_t run) {
  for (std::uint64_t i = 0; i < count[0]; i++)
    for (std::uint64_t j = 0; j < count[1]; j++) {
      const std::byte* source = from.data + i * from.stride[0] + j * from.stride[1];
      std::byte* target = to.data + i * to.stride[0] + j * to.stride[1];
      const std::uint64_t source_step = from.stride[2], target_step = to.stride[2], n = count[2];
      if (run == 1) {
        for (std::uint64_t k = 0; k < n; k++) target[k * target_step] = source[k * source_step];
      } else if (source_step == run && target_step == run) {
        std::memcpy(target, source, n * run);
      } else {
        for (std::uint64_t k = 0; k < n; k++)
          std::memcpy(target + k * target_step, source + k * source_step, run);
      }
    }
}

}  // namespace longshore
