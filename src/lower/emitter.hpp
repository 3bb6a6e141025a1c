#pragma once
#include <array>
#include <map>
#include <vector>

#include "program/access.hpp"
#include "program/program.hpp"

namespace longshore::lower {

/// The last accesses to each byte of one memory, as intervals.
class AccessMap {
 public:
  static constexpr int engines = 6;                  // four NPU queues, the CPU, taps
  using Latest = std::array<std::int64_t, engines>;  // index within the engine; -1: none

  /// Raises `after` to what an access to [from, to) has to wait for, and records the access.
  void access(std::uint64_t from, std::uint64_t to, bool write, int engine, std::int64_t at,
              Latest& after);

 private:
  struct Piece {
    std::uint64_t end = 0;
    Latest writer, reader;
  };
  void split(std::uint64_t at);
  std::map<std::uint64_t, Piece> pieces_;
};

/// Byte ranges of the arena: those with a property that carries over from step to step.
class RangeSet {
 public:
  void add(std::uint64_t from, std::uint64_t to);
  void remove(std::uint64_t from, std::uint64_t to);
  /// The whole stored ranges that share a byte with [from, to).
  std::vector<std::pair<std::uint64_t, std::uint64_t>> touching(std::uint64_t from,
                                                                std::uint64_t to) const;

 private:
  std::map<std::uint64_t, std::uint64_t> ranges_;
};

/// Collects instructions and CPU steps in one global order and makes the program correct: every
/// access waits, by semaphores, for the accesses of other engines that it must follow, and the
/// CPU's cache is cleaned or invalidated where NPU and CPU meet. Because each operation only waits
/// for earlier ones of that order, the program cannot deadlock.
class Emitter {
 public:
  explicit Emitter(Program&);

  void npu(Instruction);
  /// A store that only the comparison needs; it never changes how the rest waits.
  void tap(Instruction);
  /// A CPU step and the arena ranges that it reads and writes.
  using Ranges = std::vector<std::pair<std::uint64_t, std::uint64_t>>;
  void cpu(Step, const Ranges& reads, const Ranges& writes);
  /// The CPU (the caller) looks at these bytes after the last step.
  void hand_over(const Ranges& reads, bool taps);
  /// Writes queues, steps and semaphores into the program.
  void finish();

  /// Semaphores from here on belong to taps.
  std::uint32_t first_tap_semaphore() const { return base_semaphores_; }

 private:
  static constexpr int cpu_engine = 4, tap_engine = 5, count = AccessMap::engines;
  struct Link {
    int from = 0;
    std::int64_t after = -1;
  };
  struct Entry {
    int engine = 0;
    std::uint32_t item = 0;     // into instructions_ or steps_
    std::vector<int> waits;     // engines to wait for, once each
    std::vector<int> signals;   // engines to signal when done
    AccessMap::Latest known{};  // of other engines, when it starts
  };

  /// Cache lines are cleaned and invalidated whole; buffers of the arena never share one.
  std::uint64_t first_line(std::uint64_t at) const;
  std::uint64_t past_lines(std::uint64_t at) const;
  Entry& begin(int engine);
  void depend(Entry&, const AccessMap::Latest& after);
  void cpu_step(Step, const Ranges& reads, const Ranges& writes);
  /// The CPU's unwritten cache lines in the range go to DRAM.
  void settle(std::uint64_t from, std::uint64_t to);
  std::uint32_t semaphore(int from, int to);

  Program& program_;
  std::vector<Instruction> instructions_;
  std::vector<Step> steps_;
  std::vector<Entry> entries_[count];
  std::vector<std::pair<int, std::uint32_t>> out_order_;  // dma_out and taps, interleaved
  AccessMap::Latest clock_[count];
  AccessMap sram_, arena_;
  RangeSet dirty_, stale_;  // in the CPU's cache: not yet in DRAM; older than DRAM
  std::map<std::pair<int, int>, std::uint32_t> semaphores_;
  std::uint32_t base_semaphores_ = 0;
};

}  // namespace longshore::lower
