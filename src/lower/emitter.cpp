#include "lower/emitter.hpp"

#include <algorithm>

#include "program/instructions/mark.hpp"
#include "program/instructions/signal.hpp"
#include "program/instructions/wait.hpp"
#include "base/error.hpp"

namespace longshore::lower {
namespace {

constexpr AccessMap::Latest nothing = {-1, -1, -1, -1, -1, -1};

void raise(AccessMap::Latest& to, const AccessMap::Latest& by) {
  for (std::size_t e = 0; e < to.size(); e++) to[e] = std::max(to[e], by[e]);
}

}  // namespace

void AccessMap::split(std::uint64_t at) {
  auto next = pieces_.upper_bound(at);
  if (next == pieces_.begin()) return;
  const auto piece = std::prev(next);
  if (piece->first == at || piece->second.end <= at) return;
  Piece tail = piece->second;
  piece->second.end = at;
  pieces_.emplace(at, tail);
}

void AccessMap::access(std::uint64_t from, std::uint64_t to, bool write, int engine,
                       std::int64_t at, Latest& after) {
  if (from >= to) return;
  const auto e = static_cast<std::size_t>(engine);
  split(from);
  split(to);
  auto piece = pieces_.lower_bound(from);
  for (auto p = piece; p != pieces_.end() && p->first < to; ++p) {
    raise(after, p->second.writer);
    if (write) raise(after, p->second.reader);
  }
  if (write) {
    // Later accesses wait for this one, which waits for all before it.
    while (piece != pieces_.end() && piece->first < to) piece = pieces_.erase(piece);
    Piece now{to, nothing, nothing};
    now.writer[e] = at;
    pieces_.emplace(from, now);
    return;
  }
  std::uint64_t next = from;
  while (next < to) {
    auto p = pieces_.lower_bound(next);
    if (p == pieces_.end() || p->first >= to) {
      Piece fresh{to, nothing, nothing};
      fresh.reader[e] = at;
      pieces_.emplace(next, fresh);
      return;
    }
    if (p->first > next) {
      Piece fresh{p->first, nothing, nothing};
      fresh.reader[e] = at;
      pieces_.emplace(next, fresh);
    }
    p->second.reader[e] = std::max(p->second.reader[e], at);
    next = p->second.end;
  }
}

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

Emitter::Emitter(Program& program) : program_(program) {
  for (AccessMap::Latest& c : clock_) c = nothing;
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
  if (engine == 1 || engine == tap_engine)
    out_order_.emplace_back(engine, static_cast<std::uint32_t>(entries_[engine].size() - 1));
  return entries_[engine].back();
}

void Emitter::depend(Entry& entry, const AccessMap::Latest& after) {
  AccessMap::Latest& clock = clock_[entry.engine];
  const auto same_queue = [&](int e) {
    return e == entry.engine || (entry.engine == tap_engine && e == 1) ||
           (entry.engine == 1 && e == tap_engine);
  };
  // The engine that knows most first: its knowledge may make other waits needless.
  for (int e = count; e-- > 0;) {
    const std::int64_t need = after[static_cast<std::size_t>(e)];
    if (same_queue(e) || need <= clock[static_cast<std::size_t>(e)]) continue;
    entry.waits.push_back(e);
    entries_[e][static_cast<std::size_t>(need)].signals.push_back(entry.engine);
    if (e != tap_engine) {
      const std::int64_t taps = clock[tap_engine];
      raise(clock, entries_[e][static_cast<std::size_t>(need)].known);
      clock[tap_engine] = taps;  // what taps add must not change how the rest waits
    }
    clock[static_cast<std::size_t>(e)] = need;
  }
  entry.known = clock;
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

void Emitter::npu(Instruction instruction) {
  const Regions regions = regions_of(instruction);
  const bool cached = !program_.machine.coherent;
  for (const Region& r : regions)
    if (r.space == Space::arena && cached) settle(r.address, r.end());
  const int engine = static_cast<int>(instruction.queue);
  Entry& entry = begin(engine);
  const auto at = static_cast<std::int64_t>(entries_[engine].size() - 1);
  AccessMap::Latest after = nothing;
  for (const Region& r : regions) {
    if (r.space == Space::constants) continue;
    (r.space == Space::sram ? sram_ : arena_)
        .access(r.address, r.end(), r.write, engine, at, after);
    if (r.space == Space::arena && r.write && cached)
      stale_.add(first_line(r.address), past_lines(r.end()));
  }
  depend(entry, after);
  entry.item = static_cast<std::uint32_t>(instructions_.size());
  instructions_.push_back(std::move(instruction));
}

void Emitter::tap(Instruction instruction) {
  Entry& entry = begin(tap_engine);
  const auto at = static_cast<std::int64_t>(entries_[tap_engine].size() - 1);
  AccessMap::Latest after = nothing;
  for (const Region& r : regions_of(instruction))
    if (r.space != Space::constants)
      (r.space == Space::sram ? sram_ : arena_)
          .access(r.address, r.end(), r.write, tap_engine, at, after);
  depend(entry, after);
  entry.item = static_cast<std::uint32_t>(instructions_.size());
  instructions_.push_back(std::move(instruction));
}

void Emitter::cpu_step(Step step, const Ranges& reads, const Ranges& writes) {
  Entry& entry = begin(cpu_engine);
  const auto at = static_cast<std::int64_t>(entries_[cpu_engine].size() - 1);
  AccessMap::Latest after = nothing;
  for (const auto& [from, to] : reads) arena_.access(from, to, false, cpu_engine, at, after);
  for (const auto& [from, to] : writes) arena_.access(from, to, true, cpu_engine, at, after);
  depend(entry, after);
  entry.item = static_cast<std::uint32_t>(steps_.size());
  steps_.push_back(std::move(step));
}

void Emitter::cpu(Step step, const Ranges& reads, const Ranges& writes) {
  const bool cached = program_.machine.present && !program_.machine.coherent;
  if (cached)
    for (const auto& [from, to] : reads)
      for (const auto& [begin, end] : stale_.touching(from, to)) {
        Step fresh;
        fresh.kind = Step::Kind::invalidate;
        fresh.offset = begin;
        fresh.bytes = end - begin;
        fresh.layer = step.layer;
        stale_.remove(begin, end);
        cpu_step(std::move(fresh), {{begin, end}}, {});
      }
  cpu_step(std::move(step), reads, writes);
  if (!cached) return;
  for (const auto& [from, to] : writes) {
    dirty_.add(first_line(from), past_lines(to));
    stale_.remove(first_line(from), past_lines(to));
  }
}

void Emitter::hand_over(const Ranges& reads, bool taps) {
  const auto visit = [&](std::uint64_t from, std::uint64_t to) {
    Step fresh;
    fresh.kind = Step::Kind::invalidate;
    fresh.offset = from;
    fresh.bytes = to - from;
    cpu_step(std::move(fresh), {{from, to}}, {});
  };
  const bool cached = program_.machine.present && !program_.machine.coherent;
  for (const auto& [from, to] : reads) {
    if (taps || !cached) {
      visit(first_line(from), past_lines(to));
      continue;
    }
    for (const auto& [begin, end] : stale_.touching(from, to)) {
      stale_.remove(begin, end);
      visit(begin, end);
    }
  }
}

std::uint32_t Emitter::semaphore(int from, int to) { return semaphores_.at({from, to}); }

void Emitter::finish() {
  // Numbers for the pairs that occur, those of taps last.
  for (const bool taps : {false, true}) {
    for (int e = 0; e < count; e++)
      for (const Entry& entry : entries_[e])
        for (int from : entry.waits) {
          const bool tapped = e == tap_engine || from == tap_engine;
          if (tapped == taps) semaphores_.emplace(std::pair(from, e), 0);
        }
    if (!taps) {
      for (auto& [pair, number] : semaphores_) number = base_semaphores_++;
    } else {
      std::uint32_t next = base_semaphores_;
      for (auto& [pair, number] : semaphores_)
        if (pair.first == tap_engine || pair.second == tap_engine) number = next++;
      if (next > program_.machine.semaphores && program_.machine.present)
        fail(Code::unsupported, "the program needs ", next, " semaphores; ", program_.machine.name,
             " has ", program_.machine.semaphores);
    }
  }
  const auto queue_of = [&](int engine) {
    return engine == tap_engine ? Queue::dma_out : Queue(engine);
  };
  const auto write = [&](const Entry& entry, std::vector<Instruction>& to, std::uint32_t& layer) {
    const Instruction& instruction = instructions_[entry.item];
    const Queue queue = queue_of(entry.engine);
    for (int from : entry.waits)
      to.push_back({queue, 0, instruction.layer, Wait{semaphore(from, entry.engine), 1}});
    if (entry.engine != tap_engine && instruction.layer != layer) {
      if (layer != no_index) to.push_back({queue, 0, layer, Mark{false}});
      to.push_back({queue, 0, instruction.layer, Mark{true}});
      layer = instruction.layer;
    }
    to.push_back(instruction);
    for (int target : entry.signals)
      to.push_back({queue, 0, instruction.layer, Signal{semaphore(entry.engine, target), 1}});
  };
  for (int e = 0; e < queue_count; e++) {
    std::vector<Instruction>& to = program_.queues[e];
    std::uint32_t layer = no_index;
    if (e == static_cast<int>(Queue::dma_out)) {
      for (const auto& [engine, at] : out_order_) write(entries_[engine][at], to, layer);
    } else {
      for (const Entry& entry : entries_[e]) write(entry, to, layer);
    }
    if (layer != no_index) to.push_back({Queue(e), 0, layer, Mark{false}});
  }
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

}  // namespace longshore::lower
