// When everything happens: an event per instruction, no clock ticks. Time does not depend on data,
// so one schedule serves every input.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "program/program.hpp"

namespace longshore {

/// A thing that works through a list in order: core * queue_count + queue, or the CPU behind them.
using EngineId = std::uint32_t;
inline EngineId engine_of(const Instruction& i) noexcept {
  return i.core * static_cast<EngineId>(queue_count) + static_cast<EngineId>(i.queue);
}
inline EngineId cpu_engine(const Machine& m) noexcept {
  return m.present ? m.cores * static_cast<EngineId>(queue_count) : 0;
}
/// dma_in, mac.1, cpu, ...: the core is named where there are several.
std::string engine_name(const Machine&, EngineId);

/// The lists of all engines, as indices into Program::queues[engine % queue_count], or
/// Program::steps for the CPU.
std::vector<std::vector<std::uint32_t>> engine_lists(const Program&);

/// What time goes to. Where several happen at once, the first in this order is charged.
enum class Activity : std::uint8_t {
  compute,   // MAC array, vector unit
  dma,       // transfers
  dispatch,  // fetch and decode of the NPU's instructions
  host,      // an operator on the CPU
  cache,     // clean, invalidate
  waiting,   // the CPU's signals to the NPU, and from the NPU's to the CPU's next step
  idle,
};
inline constexpr int activity_count = 7;
const char* name(Activity) noexcept;

struct Interval {
  EngineId engine = 0;
  std::uint32_t index = 0;  // into Program::queues[engine % queue_count] or Program::steps
  std::uint32_t layer = no_index;
  Activity activity = Activity::compute;
  double start_ns = 0, end_ns = 0;
};

/// Time of a layer or of all: [activity], and the sum. Each moment is charged once.
struct TimeSplit {
  double ns[activity_count] = {};
  double of(Activity a) const noexcept { return ns[static_cast<int>(a)]; }
  double total_ns() const noexcept {
    double sum = 0;
    for (double n : ns) sum += n;
    return sum;
  }
  /// Work, without what handing over between CPU and NPU takes.
  double own_ns() const noexcept {
    return of(Activity::compute) + of(Activity::dma) + of(Activity::dispatch) + of(Activity::host);
  }
};

struct LayerTiming {
  TimeSplit time;
  double busy_ns[activity_count] = {};  // overlap not removed: sums of intervals
  std::uint64_t macs = 0, dram_bytes = 0;
};

struct MarkTime {
  EngineId engine;
  std::uint32_t layer;
  bool begin;
  double ns;
};

struct Timing {
  double total_ns = 0;
  TimeSplit time;
  TimeSplit no_layer;               // the part of `time` that belongs to no layer; idle included
  std::vector<double> busy_ns;      // per engine
  std::vector<LayerTiming> layers;  // as Program::layers
  std::uint64_t macs = 0;
  std::uint64_t dram_read_bytes = 0, dram_write_bytes = 0;  // useful bytes, bursts not counted
  std::uint64_t sram_peak_bytes = 0;                        // highest byte used, greatest core
  std::uint64_t arena_peak_bytes = 0;  // highest byte of the arena that a DMA uses
  double energy_uj = 0;                // 0 where the machine has no numbers
  std::vector<Interval> intervals;     // by start
  std::vector<MarkTime> marks;

  /// What no layer does itself: cleans, signals, waits, idle moments, the copying of inputs. With
  /// the layers' own_ns it makes the total.
  double handover_ns() const noexcept {
    return time.of(Activity::cache) + time.of(Activity::waiting) + time.of(Activity::idle) +
           no_layer.own_ns();
  }
};

/// An instruction or step that has effects, in an order that respects queues and semaphores.
struct Effect {
  EngineId engine;
  std::uint32_t index;
};

/// An instruction or step as a debugger sees it, control included.
struct Retired {
  Effect what;
  double reached_ns = 0;  // its engine came to it: a wait may block from here on
  double end_ns = 0;
};

struct Schedule {
  Timing timing;
  std::vector<Effect> order;
  std::vector<Retired> trace;  // everything, as it ends; where it was asked for
};

/// Runs the program's events. The program must have passed `check`. A deadlock is an error.
Result<Schedule> schedule(const Program&, bool trace = false) noexcept;

/// A legal order drawn at random, without time: any engine that is not blocked may go next.
Result<std::vector<Effect>> random_order(const Program&, std::uint64_t seed) noexcept;

}  // namespace longshore
