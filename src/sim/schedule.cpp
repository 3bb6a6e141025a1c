#include "sim/schedule.hpp"

#include <algorithm>
#include <limits>

#include "base/guard.hpp"
#include "program/instructions/mark.hpp"
#include "program/instructions/signal.hpp"
#include "program/instructions/wait.hpp"
#include "program/print.hpp"
#include "sim/attribute_time.hpp"
#include "sim/costs.hpp"
#include "sim/dram_server.hpp"

namespace longshore {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();

struct Semaphore {
  std::uint64_t count = 0;
  double signalled_ns = 0;  // the latest signal
  bool from_npu = false;
};

struct EngineState {
  enum class Phase : std::uint8_t { blocked, timed, transfer, done };
  Phase phase = Phase::blocked;
  std::size_t next = 0;             // into its list
  double end_ns = never;            // of the timed phase
  std::optional<DmaCost> transfer;  // of the instruction under way, if it is one
  double transfer_start_ns = 0, transfer_end_ns = -1;
  double ready_ns = 0;  // latest signal that let this engine pass a wait since its last DMA
  std::uint32_t layer = no_index;
  double reached_ns = 0;  // came to `next`
};

class EventLoop {
 public:
  explicit EventLoop(const Program& program, bool trace)
      : program_(program),
        trace_(trace),
        machine_(program.machine),
        lists_(engine_lists(program)),
        cpu_(cpu_engine(program.machine)),
        engines_(lists_.size()),
        semaphores_(program.machine.semaphores),
        dram_(program.machine.dram_gb_per_s),
        constants_(program.machine.constants_gb_per_s) {
    result_.timing.busy_ns.resize(lists_.size());
    result_.timing.layers.resize(program.layers.size());
  }

  Result<Schedule> run() {
    for (EngineId e = 0; e < engines_.size(); e++) advance(e);
    while (true) {
      EngineId next = 0;
      double at = never;
      for (EngineId e = 0; e < engines_.size(); e++) {
        const double end = engines_[e].phase == EngineState::Phase::timed ? engines_[e].end_ns
                           : engines_[e].phase == EngineState::Phase::transfer
                               ? server(e).finish_ns(e)
                               : never;
        if (end < at) at = end, next = e;
      }
      if (at == never) break;
      now_ = at;
      finish(next);
    }
    for (EngineId e = 0; e < engines_.size(); e++)
      if (engines_[e].phase != EngineState::Phase::done) return deadlock(e);
    Timing& timing = result_.timing;
    timing.total_ns = now_;
    std::stable_sort(timing.intervals.begin(), timing.intervals.end(),
                     [](const Interval& a, const Interval& b) { return a.start_ns < b.start_ns; });
    attribute_time(timing, lists_.size());
    timing.energy_uj += now_ * machine_.idle_mw * 1e-6;
    return std::move(result_);
  }

 private:
  std::uint32_t index(EngineId e) const { return lists_[e][engines_[e].next]; }
  const Instruction& instruction(EngineId e) const {
    return program_.queues[e % queue_count][index(e)];
  }
  /// Of the memory that an engine's transfer goes to.
  DramServer& server(EngineId e) { return engines_[e].transfer->constants ? constants_ : dram_; }
  const Step& step() const { return program_.steps[index(cpu_)]; }

  void retire(EngineId e) {
    EngineState& state = engines_[e];
    if (trace_) result_.trace.push_back({{e, index(e)}, state.reached_ns, now_});
    state.reached_ns = now_;
    state.next++;
  }

  void interval(EngineId e, std::uint32_t layer, Activity activity, double start, double end) {
    if (!(end > start)) return;
    result_.timing.intervals.push_back({e, index(e), layer, activity, start, end});
    result_.timing.busy_ns[e] += end - start;
    if (layer != no_index)
      result_.timing.layers[layer].busy_ns[static_cast<int>(activity)] += end - start;
  }

  void signal(std::uint32_t id, std::uint64_t count, bool from_npu) {
    Semaphore& s = semaphores_[id];
    s.count += count;
    s.signalled_ns = now_;
    s.from_npu = from_npu;
    for (EngineId e = 0; e < engines_.size(); e++)
      if (engines_[e].phase == EngineState::Phase::blocked) wake_.push_back(e);
  }

  /// Goes through control instructions until real work starts, a wait blocks, or the list ends.
  void advance(EngineId first) {
    wake_.push_back(first);
    while (!wake_.empty()) {
      const EngineId e = wake_.back();
      wake_.pop_back();
      EngineState& state = engines_[e];
      if (state.phase != EngineState::Phase::blocked) continue;
      while (state.phase == EngineState::Phase::blocked) {
        if (state.next == lists_[e].size()) {
          state.phase = EngineState::Phase::done;
        } else if (!(e == cpu_ ? start_step() : start(e))) {
          break;
        }
      }
    }
  }

  bool pass(EngineId e, std::uint32_t id, std::uint64_t count) {
    Semaphore& s = semaphores_[id];
    if (s.count < count) return false;
    s.count -= count;
    engines_[e].ready_ns = std::max(engines_[e].ready_ns, s.signalled_ns);
    return true;
  }

  /// False: blocked. Otherwise a control instruction is done, or work has begun.
  bool start(EngineId e) {
    const Instruction& i = instruction(e);
    EngineState& state = engines_[e];
    if (const auto* wait = i.operation.get_if<Wait>()) {
      if (!pass(e, wait->semaphore, wait->count)) return false;
      retire(e);
      return true;
    }
    if (const auto* given = i.operation.get_if<Signal>()) {
      retire(e);
      signal(given->semaphore, given->count, true);
      return true;
    }
    if (is_control(i.operation)) {
      if (const auto* mark = i.operation.get_if<Mark>())
        result_.timing.marks.push_back({e, i.layer, mark->begin, now_});
      retire(e);
      return true;
    }
    account(i);
    double dispatch_cycles = machine_.dispatch_cycles;
    if (i.layer != state.layer) dispatch_cycles += machine_.layer_switch_cycles;
    state.layer = i.layer;
    double dispatch = machine_.cycles_to_ns(dispatch_cycles);
    state.phase = EngineState::Phase::timed;
    state.transfer = transfer_cost(machine_, i);
    if (state.transfer) {
      double setup = state.transfer->setup_ns;
      if (machine_.dma_depth >= 2 && state.transfer_end_ns == now_) {
        // The descriptor was fetched and its first bursts asked for while the last DMA still ran.
        double hidden = now_ - std::max(state.transfer_start_ns, state.ready_ns);
        const double dispatch_hidden = std::clamp(hidden, 0.0, dispatch);
        dispatch -= dispatch_hidden;
        hidden -= dispatch_hidden;
        setup -= std::clamp(hidden, 0.0, setup);
      }
      state.ready_ns = 0;
      interval(e, i.layer, Activity::dispatch, now_, now_ + dispatch);
      interval(e, i.layer, Activity::dma, now_ + dispatch, now_ + dispatch + setup);
      state.end_ns = now_ + dispatch + setup;
    } else {
      const double work = machine_.cycles_to_ns(compute_cycles(machine_, i.operation));
      interval(e, i.layer, Activity::dispatch, now_, now_ + dispatch);
      interval(e, i.layer, Activity::compute, now_ + dispatch, now_ + dispatch + work);
      state.end_ns = now_ + dispatch + work;
    }
    return true;
  }

  bool start_step() {
    const Step& s = step();
    EngineState& state = engines_[cpu_];
    double ns = 0;
    Activity activity = Activity::host;
    switch (s.kind) {
      case Step::Kind::op:
      case Step::Kind::copy:
        ns = s.cost_us * 1e3;
        break;
      case Step::Kind::view:
        break;
      case Step::Kind::clean:
      case Step::Kind::invalidate:
        ns = machine_.coherent ? 0 : cache_op_ns(machine_, s.bytes);
        activity = Activity::cache;
        break;
      case Step::Kind::signal:
        ns = machine_.submit_us * 1e3;
        activity = Activity::waiting;
        break;
      case Step::Kind::wait:
        if (!pass(cpu_, s.semaphore, 1)) return false;
        if (semaphores_[s.semaphore].from_npu) ns = machine_.interrupt_us * 1e3;
        activity = Activity::waiting;
        break;
    }
    state.phase = EngineState::Phase::timed;
    state.end_ns = now_ + std::max(ns, 0.0);
    interval(cpu_, s.layer, activity, now_, state.end_ns);
    return true;
  }

  void finish(EngineId e) {
    EngineState& state = engines_[e];
    if (e == cpu_) {
      const Step& s = step();
      if (s.kind != Step::Kind::wait && s.kind != Step::Kind::signal)
        result_.order.push_back({e, index(e)});
      state.phase = EngineState::Phase::blocked;
      retire(e);
      if (s.kind == Step::Kind::signal) signal(s.semaphore, 1, false);
      return advance(e);
    }
    const bool dma = state.transfer.has_value();
    if (dma && state.phase == EngineState::Phase::timed) {
      state.phase = EngineState::Phase::transfer;
      state.transfer_start_ns = now_;
      server(e).start(e, now_, *state.transfer);
      return;
    }
    if (dma) {
      server(e).stop(e, now_);
      state.transfer_end_ns = now_;
      interval(e, instruction(e).layer, Activity::dma, state.transfer_start_ns, now_);
    }
    result_.order.push_back({e, index(e)});
    state.phase = EngineState::Phase::blocked;
    retire(e);
    advance(e);
  }

  void account(const Instruction& i) {
    Timing& t = result_.timing;
    const std::uint64_t work = macs(i.operation);
    t.macs += work;
    t.energy_uj += energy_nj(machine_, i) * 1e-3;
    std::uint64_t dram = 0;
    for (const Region& r : regions_of(i)) {
      if (r.space == Space::sram) {
        t.sram_peak_bytes = std::max(t.sram_peak_bytes, r.end());
        continue;
      }
      dram += r.bytes();
      (r.write ? t.dram_write_bytes : t.dram_read_bytes) += r.bytes();
      if (r.space == Space::arena) t.arena_peak_bytes = std::max(t.arena_peak_bytes, r.end());
    }
    if (i.layer == no_index) return;
    t.layers[i.layer].macs += work;
    t.layers[i.layer].dram_bytes += dram;
  }

  Status deadlock(EngineId e) const {
    const std::uint32_t at = index(e);
    std::uint32_t id = 0, count = 1;
    if (e == cpu_)
      id = step().semaphore;
    else if (const auto* wait = instruction(e).operation.get_if<Wait>())
      id = wait->semaphore, count = wait->count;
    return Status::error(Code::bad_model,
                         "deadlock: %s[%u] waits for semaphore %u, which counts %llu of %u",
                         engine_name(machine_, e).c_str(), at, id,
                         static_cast<unsigned long long>(semaphores_[id].count), count);
  }

  const Program& program_;
  bool trace_;
  const Machine& machine_;
  std::vector<std::vector<std::uint32_t>> lists_;
  EngineId cpu_;
  std::vector<EngineState> engines_;
  std::vector<Semaphore> semaphores_;
  DramServer dram_, constants_;
  std::vector<EngineId> wake_;
  double now_ = 0;
  Schedule result_;
};

}  // namespace

std::string engine_name(const Machine& machine, EngineId e) {
  if (e == cpu_engine(machine)) return "cpu";
  return queue_name(machine, e / queue_count, static_cast<Queue>(e % queue_count));
}

std::vector<std::vector<std::uint32_t>> engine_lists(const Program& program) {
  const EngineId cpu = cpu_engine(program.machine);
  std::vector<std::vector<std::uint32_t>> lists(cpu + 1);
  for (const auto& queue : program.queues)
    for (std::uint32_t i = 0; i < queue.size(); i++) lists[engine_of(queue[i])].push_back(i);
  for (std::uint32_t i = 0; i < program.steps.size(); i++) lists[cpu].push_back(i);
  return lists;
}

const char* name(Activity activity) noexcept {
  switch (activity) {
    case Activity::compute:
      return "compute";
    case Activity::dma:
      return "dma";
    case Activity::dispatch:
      return "dispatch";
    case Activity::host:
      return "host";
    case Activity::cache:
      return "cache";
    case Activity::waiting:
      return "waiting";
    case Activity::idle:
      return "idle";
  }
  return "?";
}

Result<Schedule> schedule(const Program& program, bool trace) noexcept {
  return guarded([&] { return EventLoop(program, trace).run(); });
}

}  // namespace longshore
