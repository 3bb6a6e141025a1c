#include "lower/emitter.hpp"

#include <algorithm>
#include <utility>

#include "program/instructions/mark.hpp"
#include "program/instructions/signal.hpp"
#include "program/instructions/wait.hpp"
#include "base/error.hpp"

namespace longshore::lower {
void RangeSet::remove(std::uint64_t from, std::uint64_t to) {
  auto at = ranges_.upper_bound(from);
  if (at != ranges_.begin()) --at;
  while (at != ranges_.end() && at->first < to) {
    const auto [begin, end] = *at;
    if (end <= from) {
      ++at;
      continue;
    }
    at = ranges_.erase(at);
    if (begin < from) ranges_.emplace(begin, from);
    if (end > to) ranges_.emplace(to, end);
  }
}

void RangeSet::add(std::uint64_t from, std::uint64_t to) {
  if (from >= to) return;
  remove(from, to);
  auto next = ranges_.lower_bound(from);
  if (next != ranges_.end() && next->first == to) {
    to = next->second;
    next = ranges_.erase(next);
  }
  if (next != ranges_.begin() && std::prev(next)->second == from)
    std::prev(next)->second = to;
  else
    ranges_.emplace(from, to);
}

std::vector<std::pair<std::uint64_t, std::uint64_t>> RangeSet::touching(std::uint64_t from,
                                                                        std::uint64_t to) const {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> out;
  auto at = ranges_.upper_bound(from);
  if (at != ranges_.begin()) --at;
  for (; at != ranges_.end() && at->first < to; ++at)
    if (at->second > from) out.push_back(*at);
  return out;
}

std::vector<std::pair<std::uint64_t, std::uint64_t>> RangeSet::inside(std::uint64_t from,
                                                                      std::uint64_t to) const {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> out = touching(from, to);
  for (auto& [begin, end] : out) begin = std::max(begin, from), end = std::min(end, to);
  return out;
}

Emitter::Emitter(Program& program, bool arena_apart)
    : program_(program), arena_apart_(arena_apart) {}

bool Emitter::same_queue(int a, int b) {
  const auto plain = [](int e) {
    return is_tap(e) ? e - tap_queue + static_cast<int>(Queue::dma_out) : e;
  };
  return plain(a) == plain(b);
}

std::uint64_t Emitter::first_line(std::uint64_t at) const {
  const std::uint64_t line = std::max<std::uint64_t>(program_.machine.cache_line_bytes, 1);
  return at / line * line;
}
std::uint64_t Emitter::past_lines(std::uint64_t at) const {
  const std::uint64_t line = std::max<std::uint64_t>(program_.machine.cache_line_bytes, 1);
  return (at + line - 1) / line * line;
}

Emitter::Entry& Emitter::begin(int engine) {
  entries_[engine].push_back({.engine = engine});
  if (same_queue(engine, engine / Progress::per_core * Progress::per_core +
                             static_cast<int>(Queue::dma_out)))
    out_order_[engine / Progress::per_core].emplace_back(
        engine, static_cast<std::uint32_t>(entries_[engine].size() - 1));
  return entries_[engine].back();
}

void Emitter::depend(Entry& entry, const Progress& after) {
  Progress& clock = clock_[entry.engine];
  // The engine that knows most first: its knowledge may make other waits needless.
  for (int e = Progress::most; e-- > 0;) {
    const std::int32_t need = after[e];
    if (same_queue(e, entry.engine) || need <= clock[e]) continue;
    entry.waits.push_back(e);
    Entry& source = entries_[e][static_cast<std::size_t>(need)];
    source.signals.push_back(entry.engine);
    if (!is_tap(e)) {
      Progress known = source.known;
      for (int t = 0; t < Progress::most; t++)
        if (is_tap(t)) known[t] = -1;  // what taps add must not change how the rest waits
      clock.raise(known);
    }
    clock[e] = need;
  }
  entry.known = clock;
}

Progress Emitter::record(const Instruction& instruction, int engine, std::int32_t at) {
  Progress after;
  const Regions regions = regions_of(instruction);
  const auto each = [&](auto&& f) {
    for (const Region& r : regions) {
      if (r.space == Space::sram) f(sram_[r.core], r);
      if (r.space == Space::arena && !arena_apart_) f(arena_, r);
    }
  };
  each([&](const AccessLog& log, const Region& r) { log.find(r, engine, clock_[engine], after); });
  each([&](AccessLog& log, const Region& r) { log.add(r, engine, at); });
  return after;
}

void Emitter::settle(std::uint64_t from, std::uint64_t to) {
  for (const auto& [begin, end] : dirty_.touching(from, to)) {
    Step clean;
    clean.kind = Step::Kind::clean;
    clean.offset = begin;
    clean.bytes = end - begin;
    dirty_.remove(begin, end);
    cpu_step(std::move(clean), {}, {{begin, end}});
  }
}

void Emitter::begin_task(std::uint32_t layer, std::uint32_t core) {
  if (layer != round_layer_ || core <= round_core_) end_round();
  round_layer_ = layer, round_core_ = core;
}

void Emitter::end_round() {
  share_loads(round_, shared_);
  for (RoundItem& item : std::exchange(round_, {}))
    item.tap ? emit_tap(std::move(item.instruction)) : emit(std::move(item.instruction));
}

void Emitter::npu(Instruction instruction) {
  if (program_.machine.dma_shared_loads)
    round_.push_back({std::move(instruction), false});
  else
    emit(std::move(instruction));
}

void Emitter::tap(Instruction instruction) {
  if (program_.machine.dma_shared_loads)
    round_.push_back({std::move(instruction), true});
  else
    emit_tap(std::move(instruction));
}

void Emitter::emit(Instruction instruction) {
  if (instruction.core >= std::min<std::uint32_t>(program_.machine.cores, Progress::most_cores))
    fail(Code::unsupported, "a task for core ", static_cast<int>(instruction.core), "; ",
         program_.machine.name, " has ", program_.machine.cores, ", and at most ",
         Progress::most_cores, " are used");
  const bool cached = !program_.machine.coherent;
  if (cached)
    for (const Region& r : regions_of(instruction))
      if (r.space == Space::arena) settle(r.address, r.end());
  const int engine = engine_of(instruction.core, static_cast<int>(instruction.queue));
  Entry& entry = begin(engine);
  const auto at = static_cast<std::int32_t>(entries_[engine].size() - 1);
  const Progress after = record(instruction, engine, at);
  if (cached)
    for (const Region& r : regions_of(instruction))
      if (r.space == Space::arena && r.write)
        stale_.add(first_line(r.address), past_lines(r.end()));
  depend(entry, after);
  entry.item = static_cast<std::uint32_t>(instructions_.size());
  instructions_.push_back(std::move(instruction));
}

void Emitter::emit_tap(Instruction instruction) {
  const int engine = engine_of(instruction.core, tap_queue);
  Entry& entry = begin(engine);
  const auto at = static_cast<std::int32_t>(entries_[engine].size() - 1);
  depend(entry, record(instruction, engine, at));
  entry.item = static_cast<std::uint32_t>(instructions_.size());
  instructions_.push_back(std::move(instruction));
}

/// CPU and NPU share whole cache lines, not bytes.
void Emitter::cpu_step(Step step, const Ranges& reads, const Ranges& writes) {
  Entry& entry = begin(cpu_engine);
  const auto at = static_cast<std::int32_t>(entries_[cpu_engine].size() - 1);
  const bool cached = program_.machine.present && !program_.machine.coherent;
  Progress after;
  const auto access = [&](std::uint64_t from, std::uint64_t to, bool write) {
    if (cached) from = first_line(from), to = past_lines(to);
    Region r = plain_region("", from, to - from);
    r.space = Space::arena, r.write = write;
    if (r.empty()) return;
    arena_.find(r, cpu_engine, clock_[cpu_engine], after);
    arena_.add(r, cpu_engine, at);
  };
  for (const auto& [from, to] : reads) access(from, to, false);
  for (const auto& [from, to] : writes) access(from, to, true);
  depend(entry, after);
  entry.item = static_cast<std::uint32_t>(steps_.size());
  steps_.push_back(std::move(step));
}

/// Bytes of NPU results that the CPU is about to see, and only those: their lines are forgotten.
void Emitter::refresh(std::uint64_t from, std::uint64_t to, std::uint32_t layer) {
  for (const auto& [begin, end] : stale_.inside(first_line(from), past_lines(to))) {
    settle(begin, end);  // a dirty line would be lost
    Step fresh;
    fresh.kind = Step::Kind::invalidate;
    fresh.offset = begin;
    fresh.bytes = end - begin;
    fresh.layer = layer;
    stale_.remove(begin, end);
    cpu_step(std::move(fresh), {{begin, end}}, {});
  }
}

void Emitter::cpu(Step step, const Ranges& reads, const Ranges& writes) {
  end_round();
  const bool cached = program_.machine.present && !program_.machine.coherent;
  if (cached) {
    for (const auto& [from, to] : reads) refresh(from, to, step.layer);
    // A line that is written in part keeps what the NPU wrote beside it.
    for (const auto& [from, to] : writes) {
      if (first_line(from) != from) refresh(first_line(from), from, step.layer);
      if (past_lines(to) != to) refresh(to, past_lines(to), step.layer);
    }
  }
  cpu_step(std::move(step), reads, writes);
  if (!cached) return;
  for (const auto& [from, to] : writes) {
    dirty_.add(first_line(from), past_lines(to));
    stale_.remove(first_line(from), past_lines(to));
  }
}

void Emitter::hand_over(const Ranges& reads, bool taps) {
  end_round();
  const bool cached = program_.machine.present && !program_.machine.coherent;
  for (const auto& [from, to] : reads) {
    if (cached && !taps) {
      refresh(from, to, no_index);
      continue;
    }
    Step fresh;
    fresh.kind = Step::Kind::invalidate;
    fresh.offset = first_line(from);
    fresh.bytes = past_lines(to) - first_line(from);
    cpu_step(std::move(fresh), {{first_line(from), past_lines(to)}}, {});
  }
}

std::uint32_t Emitter::semaphore(int from, int to) { return semaphores_.at({from, to}); }

void Emitter::finish() {
  end_round();
  // Numbers for the pairs that occur, those of taps last.
  std::map<std::pair<int, int>, std::uint32_t> tapped;
  for (const std::vector<Entry>& entries : entries_)
    for (const Entry& entry : entries)
      for (int from : entry.waits)
        (is_tap(entry.engine) || is_tap(from) ? tapped : semaphores_)
            .emplace(std::pair(from, entry.engine), 0);
  for (auto& [pair, number] : semaphores_) number = base_semaphores_++;
  std::uint32_t next = base_semaphores_;
  for (auto& [pair, number] : tapped) number = next++;
  semaphores_.merge(tapped);
  if (next > program_.machine.semaphores && program_.machine.present)
    fail(Code::unsupported, "the program needs ", next, " semaphores; ", program_.machine.name,
         " has ", program_.machine.semaphores);
  for (int core = 0; core < Progress::most_cores; core++)
    for (int q = 0; q < queue_count; q++) write_queue(core, static_cast<Queue>(q));
  for (const Entry& entry : entries_[cpu_engine]) {
    Step& step = steps_[entry.item];
    const auto control = [&](Step::Kind kind, std::uint32_t number) {
      Step s;
      s.kind = kind;
      s.semaphore = number;
      s.layer = step.layer;
      program_.steps.push_back(std::move(s));
    };
    const std::uint32_t layer = step.layer;
    for (int from : entry.waits) control(Step::Kind::wait, semaphore(from, cpu_engine));
    program_.steps.push_back(std::move(step));
    for (int target : entry.signals) {
      Step s;
      s.kind = Step::Kind::signal;
      s.semaphore = semaphore(cpu_engine, target);
      s.layer = layer;
      program_.steps.push_back(std::move(s));
    }
  }
}

void Emitter::write_queue(int core, Queue queue) {
  std::vector<Instruction>& to = program_.queues[static_cast<int>(queue)];
  std::uint32_t layer = no_index;
  const auto c = static_cast<std::uint8_t>(core);
  const auto write = [&](const Entry& entry) {
    const Instruction& instruction = instructions_[entry.item];
    for (int from : entry.waits)
      to.push_back({queue, c, instruction.layer, Wait{semaphore(from, entry.engine), 1}});
    if (!is_tap(entry.engine) && instruction.layer != layer) {
      if (layer != no_index) to.push_back({queue, c, layer, Mark{false}});
      to.push_back({queue, c, instruction.layer, Mark{true}});
      layer = instruction.layer;
    }
    to.push_back(instruction);
    for (int target : entry.signals)
      to.push_back({queue, c, instruction.layer, Signal{semaphore(entry.engine, target), 1}});
  };
  if (queue == Queue::dma_out) {
    for (const auto& [engine, at] : out_order_[core]) write(entries_[engine][at]);
  } else {
    for (const Entry& entry : entries_[engine_of(c, static_cast<int>(queue))]) write(entry);
  }
  if (layer != no_index) to.push_back({queue, c, layer, Mark{false}});
}

}  // namespace longshore::lower
