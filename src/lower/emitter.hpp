#pragma once
#include <map>
#include <utility>
#include <vector>

#include "lower/access_log.hpp"
#include "lower/share_loads.hpp"
#include "program/program.hpp"

namespace longshore::lower {

/// Byte ranges of the arena: those with a property that carries over from step to step.
class RangeSet {
 public:
  void add(std::uint64_t from, std::uint64_t to);
  void remove(std::uint64_t from, std::uint64_t to);
  /// The whole stored ranges that share a byte with [from, to).
  std::vector<std::pair<std::uint64_t, std::uint64_t>> touching(std::uint64_t from,
                                                                std::uint64_t to) const;
  /// What of [from, to) is in the set.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> inside(std::uint64_t from,
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
  /// `arena_apart`: nothing in the arena is both written and read, as within one layer, so that its
  /// accesses need not be remembered.
  explicit Emitter(Program&, bool arena_apart = false);

  /// The instructions and taps that follow are of this task. Tasks of one layer on ascending cores
  /// are a round, within which loads are shared where the machine can.
  void begin_task(std::uint32_t layer, std::uint32_t core);
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
  static constexpr int tap_queue = queue_count, cpu_engine = Progress::most - 1;
  static int engine_of(std::uint32_t core, int queue) {
    return static_cast<int>(core) * Progress::per_core + queue;
  }
  static bool is_tap(int engine) {
    return engine != cpu_engine && engine % Progress::per_core == tap_queue;
  }
  /// Taps stand in the queue of the stores of their core.
  static bool same_queue(int a, int b);

  struct Entry {
    int engine = 0;
    std::uint32_t item = 0;    // into instructions_ or steps_
    std::vector<int> waits;    // engines to wait for, once each
    std::vector<int> signals;  // engines to signal when done
    Progress known;            // of other engines, when it starts
  };

  /// Cache lines are cleaned and invalidated whole; buffers of the arena never share one.
  std::uint64_t first_line(std::uint64_t at) const;
  std::uint64_t past_lines(std::uint64_t at) const;
  Entry& begin(int engine);
  /// Puts the round into the queues.
  void end_round();
  void emit(Instruction);
  void emit_tap(Instruction);
  void depend(Entry&, const Progress& after);
  void cpu_step(Step, const Ranges& reads, const Ranges& writes);
  /// The CPU's unwritten cache lines in the range go to DRAM.
  void settle(std::uint64_t from, std::uint64_t to);
  /// Invalidates what the NPU wrote of [from, to) since the CPU saw it.
  void refresh(std::uint64_t from, std::uint64_t to, std::uint32_t layer);
  void write_queue(int core, Queue);
  std::uint32_t semaphore(int from, int to);

  Program& program_;
  const bool arena_apart_;
  std::vector<RoundItem> round_;
  std::uint32_t round_layer_ = no_index, round_core_ = 0;
  std::uint32_t shared_ = 0;  // loads so far
  std::vector<Instruction> instructions_;
  std::vector<Step> steps_;
  /// What the engine's access `at`, which is an instruction, has to wait for.
  Progress record(const Instruction&, int engine, std::int32_t at);

  std::vector<Entry> entries_[Progress::most];
  /// Stores and taps of each core, interleaved.
  std::vector<std::pair<int, std::uint32_t>> out_order_[Progress::most_cores];
  Progress clock_[Progress::most];
  AccessLog sram_[Progress::most_cores], arena_;
  RangeSet dirty_, stale_;  // in the CPU's cache: not yet in DRAM; older than DRAM
  std::map<std::pair<int, int>, std::uint32_t> semaphores_;
  std::uint32_t base_semaphores_ = 0;
};

}  // namespace longshore::lower
