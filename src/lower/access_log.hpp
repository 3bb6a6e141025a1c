// Which earlier accesses to a memory an access has to wait for.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "plan/plan.hpp"
#include "program/region.hpp"

namespace longshore::lower {

/// How far each engine has come: indices of its last access, -1 for none. Engines are (core,
/// queue), the taps of each core and the CPU.
struct Progress {
  static constexpr int most_cores = plan::most_cores, per_core = queue_count + 1;
  static constexpr int most = most_cores * per_core + 1;
  std::array<std::int32_t, most> last;

  Progress() { last.fill(-1); }
  std::int32_t& operator[](int engine) { return last[static_cast<std::size_t>(engine)]; }
  std::int32_t operator[](int engine) const { return last[static_cast<std::size_t>(engine)]; }
  void raise(const Progress& by) {
    for (std::size_t e = 0; e < last.size(); e++) last[e] = std::max(last[e], by.last[e]);
  }
};

/// All accesses to one memory, by engine. An engine does its own in order, so that the newest one
/// that shares a byte is all there is to wait for; those that are known to be done are not looked
/// at.
class AccessLog {
 public:
  /// Raises `after` to what an access of the engine to the region has to wait for, of others and
  /// beyond what is `known`.
  void find(const Region&, int engine, const Progress& known, Progress& after) const;
  /// Access `at` of its engine. Indices of an engine ascend.
  void add(const Region&, int engine, std::int32_t at);

 private:
  struct Access {
    Region region;
    std::uint64_t end = 0;
    std::int32_t at = -1;
  };
  /// Bytes around a few accesses in a row.
  struct Block {
    std::uint64_t from = 0, to = 0;
    bool write = false;
  };
  static constexpr std::size_t block_size = 16;
  struct Engine {
    std::vector<Access> accesses;
    std::vector<Block> blocks;
  };
  std::array<Engine, Progress::most> engines_;
};

}  // namespace longshore::lower
