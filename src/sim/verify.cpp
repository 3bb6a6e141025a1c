#include "sim/verify.hpp"

#include <algorithm>

#include "program/print.hpp"
#include "sim/shadow.hpp"

namespace longshore {
namespace {

/// A cache line of the arena as a CPU without coherence has it. Event numbers + 1; 0: none.
struct Line {
  std::uint32_t cpu_write = 0;    // the latest
  std::uint32_t cleaned = 0;      // since cpu_write
  std::uint32_t dropped = 0;      // invalidated while dirty
  std::uint32_t invalidated = 0;  // the latest
  std::uint32_t npu_write = 0;    // the latest
  /// A CPU's write to a part of the line whose cached rest was older than an NPU's store: whenever
  /// the line is written back, that store is overwritten.
  std::uint32_t tears = 0;
};

class Verifier {
 public:
  Verifier(const Program& program, std::size_t most)
      : program_(program),
        machine_(program.machine),
        most_(most),
        cpu_(cpu_engine(program.machine)) {}

  std::vector<Refusal> run() {
    if (!machine_.present) {
      if (const Status status = check(program_); !status.ok()) malformed(status);
      return std::move(refusals_);
    }
    check_instructions();
    if (!refusals_.empty()) return std::move(refusals_);
    if (const Status status = check(program_); !status.ok()) {
      malformed(status);
      return std::move(refusals_);
    }
    std::vector<OrderProblem> problems;
    order_ = order_of(program_, problems);
    for (const OrderProblem& p : problems) {
      Refusal r{p.deadlock ? Refusal::Kind::deadlock : Refusal::Kind::semaphore, p.first, p.second};
      r.text = p.text + detail(p.first) + detail(p.second);
      add(std::move(r));
    }
    if (problems.empty()) walk();
    return std::move(refusals_);
  }

 private:
  void malformed(const Status& status) {
    Refusal r;
    r.text = status.text();
    add(std::move(r));
  }

  void check_instructions() {
    if (!check(machine_).ok()) return malformed(check(machine_));
    const MemorySizes sizes{program_.arena_bytes,
                            program_.constants ? program_.constants->size() : 0};
    for (int q = 0; q < queue_count; q++)
      for (std::uint32_t i = 0; i < program_.queues[q].size(); i++) {
        const Instruction& instruction = program_.queues[q][i];
        const Status status = check(machine_, sizes, instruction);
        if (status.ok()) continue;
        Refusal r;
        if (instruction.core < machine_.cores && static_cast<int>(instruction.queue) == q)
          r.first = {true, engine_of(instruction), i};
        for (const Region& region : regions_of(instruction)) {
          const std::uint64_t size = region.space == Space::sram    ? machine_.sram_bytes
                                     : region.space == Space::arena ? sizes.arena
                                                                    : sizes.constants;
          if (region.end() <= size) continue;
          r.space = region.space;
          r.core = region.space == Space::sram ? region.core : 0;
          r.begin = std::max(region.address, size);
          r.end = region.end();
          break;
        }
        r.text = queue_name(machine_, instruction.core, static_cast<Queue>(q)) + "[" +
                 std::to_string(i) + "]: " + status.text() + ": " + print(instruction);
        add(std::move(r));
      }
  }

  std::string place(const Location& l) const {
    if (l.engine == cpu_ && l.index == program_.steps.size()) return "the caller";
    return engine_name(machine_, l.engine) + "[" + std::to_string(l.index) + "]";
  }
  std::string described(const Location& l) const {
    if (l.engine == cpu_)
      return l.index == program_.steps.size()
                 ? "the caller, who reads the outputs at the end"
                 : place(l) + " `" + print(program_.steps[l.index]) + "`";
    return place(l) + " `" + print(program_.queues[l.engine % queue_count][l.index]) + "`";
  }
  std::string detail(const Location& l) const {
    return l.present ? "; " + described(l) : std::string();
  }

  void add(Refusal refusal) {
    if (refusals_.size() < most_) refusals_.push_back(std::move(refusal));
  }

  Location location(std::uint32_t event) const {
    return {true, order_.events[event].engine, order_.events[event].index};
  }

  /// Neighbouring bytes of the same pair make one refusal.
  void report(Refusal::Kind kind, std::uint32_t first, std::uint32_t second, bool both, Space space,
              std::uint32_t core, std::uint64_t begin, std::uint64_t end, const char* why) {
    const Location a = both ? location(first) : location(second),
                   b = both ? location(second) : Location{};
    for (auto r = refusals_.rbegin(); r != refusals_.rend(); ++r)
      if (r->kind == kind && r->first == a && r->second == b && r->space == space &&
          r->core == core) {
        r->begin = std::min(r->begin, begin);
        r->end = std::max(r->end, end);
        return;
      }
    Refusal r{kind, a, b, space, core, begin, end};
    r.text = why;  // finished by finish_texts, when all bytes are known
    add(std::move(r));
  }

  void finish_texts() {
    for (Refusal& r : refusals_) {
      const std::string where =
          std::string(name(r.space)) +
          (r.space == Space::sram && machine_.cores > 1 ? "." + std::to_string(r.core) : "") +
          " bytes " + std::to_string(r.begin) + ".." + std::to_string(r.end - 1);
      r.text = std::string(name(r.kind)) + " at " + where + ": " + described(r.first) +
               (r.second.present ? " and " + described(r.second) : std::string()) + ": " + r.text;
    }
  }

  void walk() {
    for (std::uint32_t c = 0; c < machine_.cores; c++)
      sram_.emplace_back(machine_.sram_bytes, queue_count);
    arena_.emplace_back(program_.arena_bytes, order_.engines);
    if (!machine_.coherent)
      lines_.resize(static_cast<std::size_t>(program_.arena_bytes / machine_.cache_line_bytes) + 1);
    for (std::uint32_t e = 0; e < order_.events.size() && refusals_.size() < most_; e++) {
      const Order::Event& event = order_.events[e];
      if (event.engine == cpu_)
        cpu_event(e);
      else
        npu_event(e, program_.queues[event.engine % queue_count][event.index]);
    }
    finish_texts();
  }

  /// Event numbers in cells are + 1.
  bool ordered(std::uint32_t cell, std::uint32_t now) const {
    const std::uint32_t past = cell - 1;
    return order_.events[past].engine == order_.events[now].engine || order_.before(past, now);
  }

  void access(Shadow& shadow, Space space, std::uint32_t core, std::uint64_t begin,
              std::uint64_t end, bool write, std::uint32_t reader, std::uint32_t readers,
              std::uint32_t now) {
    shadow.each(begin, end, write, [&](std::uint64_t from, std::uint64_t to, std::uint32_t* cell) {
      if (cell[0] != 0 && !ordered(cell[0], now))
        report(Refusal::Kind::race, cell[0] - 1, now, true, space, core, from, to,
               write ? "both write, and nothing orders them"
                     : "a write and a read, and nothing orders them");
      if (write) {
        for (std::uint32_t r = 0; r < readers; r++) {
          if (cell[1 + r] != 0 && !ordered(cell[1 + r], now))
            report(Refusal::Kind::race, cell[1 + r] - 1, now, true, space, core, from, to,
                   "a read and a write, and nothing orders them");
          cell[1 + r] = 0;
        }
      } else if (cell[0] == 0) {
        report(Refusal::Kind::unwritten, 0, now, false, space, core, from, to,
               "it reads what nobody wrote");
      }
      if (space == Space::arena && !machine_.coherent) coherence(cell[0], now, from, to, write);
      cell[write ? 0 : 1 + reader] = now + 1;
    });
  }

  void npu_event(std::uint32_t now, const Instruction& instruction) {
    for (const Region& region : regions_of(instruction)) {
      if (region.space == Space::constants) continue;
      const bool sram = region.space == Space::sram;
      Shadow& shadow = sram ? sram_[region.core] : arena_[0];
      const std::uint32_t reader =
          sram ? static_cast<std::uint32_t>(instruction.queue) : engine_of(instruction);
      each_run(region, [&](std::uint64_t begin, std::uint64_t end) {
        access(shadow, region.space, sram ? region.core : 0u, begin, end, region.write, reader,
               sram ? queue_count : order_.engines, now);
      });
    }
  }

  void value_access(std::uint32_t value, bool write, std::uint32_t now) {
    if (value == no_index) return;
    const ProgramValue& v = program_.values[value];
    if (v.storage != Storage::arena || !v.fixed_shape) return;
    const std::uint64_t bytes =
        static_cast<std::uint64_t>(v.shape.elements()) * size_bytes(v.dtype);
    access(arena_[0], Space::arena, 0, v.offset, v.offset + bytes, write, cpu_, order_.engines,
           now);
    if (!write || bytes == 0 || machine_.coherent) return;
    const std::uint64_t size = machine_.cache_line_bytes, begin = v.offset, end = v.offset + bytes;
    const std::uint64_t first = begin / size * size,
                        after = std::min((end + size - 1) / size * size, program_.arena_bytes);
    tear(first, begin, now);
    tear(end, after, now);
  }

  /// The CPU writes the line that holds [begin, end), but not these bytes.
  void tear(std::uint64_t begin, std::uint64_t end, std::uint32_t now) {
    if (begin >= end) return;
    Line& line = lines_[begin / machine_.cache_line_bytes];
    if (line.npu_write == 0 ||
        (line.invalidated != 0 && ordered(line.npu_write, line.invalidated - 1)))
      return;
    line.tears = now + 1;
    arena_[0].each(
        begin, end, false, [&](std::uint64_t from, std::uint64_t to, std::uint32_t* cell) {
          if (cell[0] == 0 || order_.events[cell[0] - 1].engine == cpu_) return;
          for (std::uint32_t r = 0; r < order_.engines; r++)
            if (cell[1 + r] != 0 && !ordered(cell[1 + r], now))
              report(Refusal::Kind::lost, cell[1 + r] - 1, now, true, Space::arena, 0, from, to,
                     "the CPU's write to another part of the line may bring older bytes back "
                     "before the read");
        });
  }

  void cpu_event(std::uint32_t now) {
    const std::uint32_t index = order_.events[now].index;
    if (index == program_.steps.size()) {
      for (std::uint32_t v : program_.outputs) value_access(v, false, now);
      return;
    }
    const Step& step = program_.steps[index];
    if (computes(step)) {
      for (std::uint32_t v : step.inputs) value_access(v, false, now);
      for (const NestedProgram& nested : step.nested)
        for (std::uint32_t v : nested.captures) value_access(v, false, now);
      for (std::uint32_t v : step.outputs) value_access(v, true, now);
      return;
    }
    if (machine_.coherent || step.bytes == 0) return;
    const std::uint64_t line = machine_.cache_line_bytes;
    for (std::uint64_t i = step.offset / line; i <= (step.offset + step.bytes - 1) / line; i++) {
      Line& state = lines_[i];
      if (step.kind == Step::Kind::clean) {
        if (state.cpu_write != 0 && state.cleaned == 0) state.cleaned = now + 1;
      } else {
        if (state.cpu_write != 0 && state.cleaned == 0) state.dropped = now + 1;
        state.invalidated = now + 1;
      }
    }
  }

  /// `writer`: who wrote these bytes last, before this access.
  void coherence(std::uint32_t writer, std::uint32_t now, std::uint64_t begin, std::uint64_t end,
                 bool write) {
    const bool by_cpu = order_.events[now].engine == cpu_;
    const bool from_cpu = writer != 0 && order_.events[writer - 1].engine == cpu_;
    const std::uint64_t size = machine_.cache_line_bytes;
    for (std::uint64_t i = begin / size; i <= (end - 1) / size; i++) {
      Line& line = lines_[i];
      const std::uint64_t from = std::max(begin, i * size), to = std::min(end, (i + 1) * size);
      const auto refuse = [&](Refusal::Kind kind, std::uint32_t other, const char* why) {
        report(kind, other - 1, now, true, Space::arena, 0, from, to, why);
      };
      if (!write && writer != 0 && !from_cpu && line.tears > writer)
        refuse(Refusal::Kind::lost, line.tears,
               "the CPU's write to another part of the line brings older bytes back here");
      if (!by_cpu && write) line.npu_write = now + 1;
      if (by_cpu && write) {
        line.cpu_write = now + 1;
        line.cleaned = line.dropped = 0;
      } else if (by_cpu && writer != 0) {
        if (from_cpu && line.dropped != 0)
          refuse(Refusal::Kind::lost, line.dropped,
                 "the CPU's own bytes were invalidated before they were cleaned");
        if (!from_cpu && (line.invalidated == 0 || !ordered(writer, line.invalidated - 1)))
          refuse(Refusal::Kind::stale, writer,
                 "the CPU reads bytes of the NPU without an invalidate after the store");
      } else if (!write && from_cpu) {
        if (line.dropped != 0)
          refuse(Refusal::Kind::lost, line.dropped,
                 "the CPU's bytes were invalidated before they were cleaned");
        else if (line.cleaned == 0 || !ordered(line.cleaned, now))
          refuse(Refusal::Kind::stale, writer,
                 "the NPU reads bytes of the CPU without a clean in between");
      } else if (!by_cpu && write && line.cpu_write != 0) {
        const std::uint32_t settled = line.cleaned != 0 ? line.cleaned : line.dropped;
        if (settled == 0 || !ordered(settled, now))
          refuse(Refusal::Kind::lost, line.cpu_write,
                 "the CPU's cache may still write its line back over the NPU's bytes: clean or "
                 "invalidate first");
      }
    }
  }

  const Program& program_;
  const Machine& machine_;
  std::size_t most_;
  EngineId cpu_;
  Order order_;
  std::vector<Shadow> sram_, arena_;
  std::vector<Line> lines_;
  std::vector<Refusal> refusals_;
};

}  // namespace

const char* name(Refusal::Kind kind) noexcept {
  switch (kind) {
    case Refusal::Kind::malformed:
      return "malformed";
    case Refusal::Kind::semaphore:
      return "semaphore";
    case Refusal::Kind::deadlock:
      return "deadlock";
    case Refusal::Kind::race:
      return "race";
    case Refusal::Kind::unwritten:
      return "unwritten bytes";
    case Refusal::Kind::stale:
      return "stale bytes";
    case Refusal::Kind::lost:
      return "lost bytes";
  }
  return "?";
}

std::vector<Refusal> verify(const Program& program, std::size_t most) {
  return Verifier(program, most).run();
}

Status verified(const Program& program) {
  const std::vector<Refusal> refusals = verify(program, 1);
  if (refusals.empty()) return {};
  return Status::error(Code::bad_model, "%s", refusals[0].text.c_str());
}

}  // namespace longshore
