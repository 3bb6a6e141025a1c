#include "measure/change.hpp"

#include <algorithm>
#include <cstring>
#include <random>
#include <string_view>

#include "base/error.hpp"
#include "program/access.hpp"

namespace longshore {
namespace {

constexpr int trials = 8;  // random contents per instruction

std::span<const std::byte> constants_of(const Program& p) {
  return p.constants ? p.constants->bytes() : std::span<const std::byte>();
}

/// Index tables would lead anywhere if random, and random parameters are no numbers.
bool may_be_anything(const Region& r) { return r.space != Space::constants && !r.restricted; }

/// One of the two runs: memories, the CPU's view of the arena, and who runs the CPU's steps.
struct Side {
  const Program* program;
  Host* host;
  std::vector<std::byte> arena;
  NpuMemory memory;
  Workspace workspace;

  Side(const Program& p, Host& h)
      : program(&p),
        host(&h),
        arena(p.arena_bytes, NpuMemory::fresh_byte),
        memory(p.machine, p.machine.coherent ? 0 : p.arena_bytes, constants_of(p), false) {
    if (p.machine.coherent) memory.share(arena);
  }
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;

  const Instruction& at(Place place) const {
    return program->queues[static_cast<int>(place.queue)][place.index];
  }
  std::span<std::byte> bytes(const Region& r) {
    return r.space == Space::sram ? memory.sram(r.core) : memory.dram();
  }
};

class SideBySide {
 public:
  SideBySide(const Program& program, const Program& changed, Place place, Host& host,
             Host& changed_host, std::uint64_t seed)
      : a_(program, host),
        b_(changed, changed_host),
        place_(place),
        random_(seed),
        sram_(program.machine.cores, Flags(program.machine.sram_bytes)),
        dram_(program.arena_bytes),
        view_(program.machine.coherent ? 0 : program.arena_bytes),
        may_{sram_, dram_, view_} {}

  Result<ChangeEffect> run() {
    const Result<Schedule> order = schedule(*a_.program);
    if (!order.ok()) return order.status();
    const EngineId cpu = cpu_engine(a_.program->machine);
    effect_.control = is_control(a_.at(place_).operation);  // the order need not list it
    for (const Effect& e : order->order) {
      const Place at{static_cast<Queue>(e.engine % queue_count), e.index};
      if (e.engine == cpu)
        LONGSHORE_TRY(step(e.index));
      else
        LONGSHORE_TRY(instruction(at));
    }
    for (std::uint32_t v : a_.program->outputs) {
      effect_.reaches_host |= value_differs(v);
      effect_.may_be_read |= may_have_changed(v);
    }
    return effect_;
  }

 private:
  using Flags = std::vector<unsigned char>;

  Flags& flags(const Region& r) { return r.space == Space::sram ? sram_[r.core] : dram_; }

  bool differs(const Region& r) {
    if (r.space == Space::constants) return false;
    bool found = false;
    const Flags& f = flags(r);
    each_run(r, [&](std::uint64_t begin, std::uint64_t end) {
      found = found || std::memchr(f.data() + begin, 1, end - begin) != nullptr;
    });
    return found;
  }

  /// Compares both sides in the region anew; the number of bytes that differ.
  std::uint64_t refresh(const Region& r) {
    std::uint64_t count = 0;
    Flags& f = flags(r);
    const auto a = a_.bytes(r), b = b_.bytes(r);
    each_run(r, [&](std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t i = begin; i < end; i++) count += f[i] = a[i] != b[i];
    });
    return count;
  }

  Status instruction(Place at) {
    const Instruction &a = a_.at(at), &b = b_.at(at);
    const bool target = at.queue == place_.queue && at.index == place_.index;
    if (is_control(a.operation)) return {};
    const Regions of_a = regions_of(a), of_b = regions_of(b);
    const bool reads = std::any_of(of_a.begin(), of_a.end(),
                                   [&](const Region& r) { return !r.write && differs(r); });
    follow(of_a, of_b, target);
    if (target) LONGSHORE_TRY(try_target(a, b));
    if (reads && !target) {
      reader(a.layer);
      if (!effect_.sensitive_reader) LONGSHORE_TRY(try_reader(a));
    }
    LONGSHORE_TRY(execute(a, a_.memory, a_.workspace));
    LONGSHORE_TRY(execute(b, b_.memory, b_.workspace));
    for (const Regions* regions : {&of_a, &of_b})
      for (const Region& r : *regions)
        if (r.write) refresh(r);
    if (target) {
      std::uint64_t count = 0;
      for (const Region& r : of_a)
        if (r.write) count += refresh(r);
      for (const Region& r : of_b)
        if (r.write && !same_place(of_a, r)) count += refresh(r);
      effect_.changed_bytes = std::max(effect_.changed_bytes, count);
    }
    return {};
  }

  /// The bytes that may differ for some contents: marked where the changed instruction writes,
  /// cleared where the others do.
  void follow(const Regions& of_a, const Regions& of_b, bool target) {
    const auto mark = [&](const Region& r, unsigned char value) {
      if (r.space == Space::constants) return;
      Flags& f = r.space == Space::sram ? may_.sram[r.core] : may_.dram;
      each_run(r, [&](std::uint64_t begin, std::uint64_t end) {
        if (!r.write)
          effect_.may_be_read |= std::memchr(f.data() + begin, 1, end - begin) != nullptr;
        else
          std::memset(f.data() + begin, value, end - begin);
      });
    };
    for (const Region& r : of_a)
      if (r.write || !target) mark(r, target);
    for (const Region& r : of_b)
      if (r.write && target) mark(r, 1);
  }

  /// Its bytes in the CPU's view.
  bool may_have_changed(std::uint32_t index) const {
    if (index == no_index) return false;
    const ProgramValue& v = a_.program->values[index];
    if (v.storage != Storage::arena || !v.fixed_shape) return false;
    const Flags& f = a_.program->machine.coherent ? may_.dram : may_.view;
    const std::size_t bytes = static_cast<std::size_t>(v.shape.elements()) * size_bytes(v.dtype);
    return bytes > 0 && std::memchr(f.data() + v.offset, 1, bytes) != nullptr;
  }

  static bool same_place(const Regions& regions, const Region& r) {
    return std::any_of(regions.begin(), regions.end(), [&](const Region& o) {
      return o.write && o.space == r.space && o.core == r.core && o.address == r.address &&
             o.run == r.run && std::equal(o.count, o.count + 3, r.count) &&
             std::equal(o.stride, o.stride + 3, r.stride);
    });
  }

  /// The bytes of memory that instructions can change.
  struct Snapshot {
    std::vector<std::vector<std::byte>> sram;  // by core
    std::vector<std::byte> dram;
    bool operator==(const Snapshot&) const = default;
    std::vector<std::byte>& of(const Region& r) {
      return r.space == Space::sram ? sram[r.core] : dram;
    }
  };
  static Snapshot save(Side& s) {
    Snapshot out;
    for (std::uint32_t core = 0; core < s.program->machine.cores; core++) {
      const auto sram = s.memory.sram(static_cast<int>(core));
      out.sram.emplace_back(sram.begin(), sram.end());
    }
    const auto dram = s.memory.dram();
    out.dram.assign(dram.begin(), dram.end());
    return out;
  }
  static void restore(Side& s, const Snapshot& from) {
    for (std::size_t core = 0; core < from.sram.size(); core++)
      std::ranges::copy(from.sram[core], s.memory.sram(static_cast<int>(core)).begin());
    std::ranges::copy(from.dram, s.memory.dram().begin());
  }

  /// Random codes into the region, or only into its bytes that differ; accumulators stay far from
  /// overflow.
  void scramble(Snapshot& s, const Region& r, const Flags* only) {
    std::vector<std::byte>& bytes = s.of(r);
    const bool words = r.element == 4;
    each_run(r, [&](std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t i = begin; i < end; i++)
        if (!only || (*only)[i]) bytes[i] = static_cast<std::byte>(random_());
      for (std::uint64_t i = begin; words && i + 4 <= end; i += 4) {
        const std::int32_t sum = static_cast<std::int32_t>(random_() % 200001) - 100000;
        std::memcpy(bytes.data() + i, &sum, 4);
      }
    });
  }

  /// Whether the changed instruction can write other bytes than the original, whatever it reads.
  Status try_target(const Instruction& a, const Instruction& b) {
    const Snapshot kept_a = save(a_), kept_b = save(b_);
    int tried = 0;
    for (int t = 0; t < trials && !effect_.sensitive; t++) {
      Snapshot contents = kept_a;
      for (const Instruction* i : {&a, &b})
        for (const Region& r : regions_of(*i))
          if (!r.write && may_be_anything(r)) scramble(contents, r, nullptr);
      restore(a_, contents);
      restore(b_, contents);
      // What the one reads can lie where the other has parameters, which are no numbers now.
      if (!execute(a, a_.memory, a_.workspace).ok()) continue;
      tried++;
      effect_.sensitive = !execute(b, b_.memory, b_.workspace).ok() || !(save(a_) == save(b_));
    }
    if (tried == 0) effect_.sensitive = true;  // nothing is known
    restore(a_, kept_a);
    restore(b_, kept_b);
    return {};
  }

  /// Whether what an instruction writes depends on the bytes that differ among those it reads.
  Status try_reader(const Instruction& a) {
    const Snapshot kept = save(a_);
    Snapshot before;
    for (int t = 0; t < trials && !effect_.sensitive_reader; t++) {
      Snapshot contents = kept;
      for (const Region& r : regions_of(a))
        if (t > 0 && !r.write && may_be_anything(r)) scramble(contents, r, &flags(r));
      restore(a_, contents);
      LONGSHORE_TRY(execute(a, a_.memory, a_.workspace));
      Snapshot after = save(a_);
      if (t == 0) before = after;
      for (const Region& r : regions_of(a)) {
        if (!r.write) continue;
        const auto &x = before.of(r), &y = after.of(r);
        each_run(r, [&](std::uint64_t begin, std::uint64_t end) {
          effect_.sensitive_reader |=
              std::memcmp(x.data() + begin, y.data() + begin, end - begin) != 0;
        });
      }
    }
    restore(a_, kept);
    return {};
  }

  bool value_differs(std::uint32_t index) const {
    if (index == no_index) return false;
    const ProgramValue& v = a_.program->values[index];
    if (v.storage == Storage::dynamic) return dynamic_differs_;
    if (v.storage != Storage::arena || !v.fixed_shape) return false;
    const std::size_t bytes = static_cast<std::size_t>(v.shape.elements()) * size_bytes(v.dtype);
    return bytes > 0 &&
           std::memcmp(a_.arena.data() + v.offset, b_.arena.data() + v.offset, bytes) != 0;
  }

  Status step(std::uint32_t index) {
    const Step& s = a_.program->steps[index];
    const bool shared = a_.program->machine.coherent;
    if (s.kind == Step::Kind::clean && !shared) {
      a_.memory.clean(a_.arena, s.offset, s.bytes);
      b_.memory.clean(b_.arena, s.offset, s.bytes);
      for (std::uint64_t i = s.offset; i < s.offset + s.bytes; i++) may_.dram[i] |= may_.view[i];
      // Only dirty lines moved.
      const auto a = a_.memory.dram(), b = b_.memory.dram();
      for (std::uint64_t i = s.offset; i < s.offset + s.bytes; i++) dram_[i] = a[i] != b[i];
    } else if (s.kind == Step::Kind::invalidate && !shared) {
      a_.memory.invalidate(a_.arena, s.offset, s.bytes);
      b_.memory.invalidate(b_.arena, s.offset, s.bytes);
      std::copy_n(dram_.begin() + static_cast<std::ptrdiff_t>(s.offset), s.bytes,
                  view_.begin() + static_cast<std::ptrdiff_t>(s.offset));
      std::copy_n(may_.dram.begin() + static_cast<std::ptrdiff_t>(s.offset), s.bytes,
                  may_.view.begin() + static_cast<std::ptrdiff_t>(s.offset));
    } else if (computes(s)) {
      for (std::uint32_t v : s.inputs) effect_.may_be_read |= may_have_changed(v);
      for (const NestedProgram& n : s.nested)
        for (std::uint32_t v : n.captures) effect_.may_be_read |= may_have_changed(v);
      if (std::ranges::any_of(s.inputs, [&](std::uint32_t v) { return value_differs(v); })) {
        reader(s.layer);
        effect_.sensitive_reader = true;  // a step of the CPU is not tried with other contents
        for (std::uint32_t v : s.outputs)
          dynamic_differs_ |= v != no_index && a_.program->values[v].storage == Storage::dynamic;
      }
      LONGSHORE_TRY(a_.host->run_step(s, index, a_.arena));
      LONGSHORE_TRY(b_.host->run_step(s, index, b_.arena));
      for (std::uint32_t v : s.outputs) {
        if (v == no_index) continue;
        const ProgramValue& value = a_.program->values[v];
        if (value.storage != Storage::arena || !value.fixed_shape) continue;
        const std::uint64_t bytes =
            static_cast<std::uint64_t>(value.shape.elements()) * size_bytes(value.dtype);
        std::memset((shared ? may_.dram : may_.view).data() + value.offset, 0, bytes);
        a_.memory.cpu_wrote(value.offset, bytes);
        b_.memory.cpu_wrote(value.offset, bytes);
      }
      Flags& f = shared ? dram_ : view_;
      for (std::size_t i = 0; i < f.size(); i++) f[i] = a_.arena[i] != b_.arena[i];
    }
    return {};
  }

  void reader(std::uint32_t layer) {
    if (layer != no_index && std::ranges::find(effect_.readers, layer) == effect_.readers.end())
      effect_.readers.push_back(layer);
  }

  Side a_, b_;
  Place place_;
  std::mt19937_64 random_;
  std::vector<Flags> sram_;  // 1: the sides differ in that byte
  Flags dram_, view_;
  struct {
    std::vector<Flags> sram;
    Flags dram, view;
  } may_;  // 1: the sides may differ there for some contents
  bool dynamic_differs_ = false;
  ChangeEffect effect_;
};

}  // namespace

Result<ChangeEffect> effect_of_change(const Program& program, const Program& changed, Place place,
                                      Host& host, Host& changed_host, std::uint64_t seed) {
  return SideBySide(program, changed, place, host, changed_host, seed).run();
}

void merge(ChangeEffect& to, const ChangeEffect& other) {
  to.control |= other.control;
  to.may_be_read |= other.may_be_read;
  to.sensitive |= other.sensitive;
  to.sensitive_reader |= other.sensitive_reader;
  to.reaches_host |= other.reaches_host;
  to.changed_bytes = std::max(to.changed_bytes, other.changed_bytes);
  for (std::uint32_t layer : other.readers)
    if (std::ranges::find(to.readers, layer) == to.readers.end()) to.readers.push_back(layer);
}

Judgement judge(const ChangeEffect& e, const Program& program) {
  using enum Judgement::Verdict;
  if (e.control)
    return {timing_only,
            "it moves no bytes, and the verifier has proved that every order it allows gives the "
            "same bytes"};
  if (!e.may_be_read)
    return {dead,
            "proved: no region of anything that follows holds a byte that the instruction writes, "
            "before or after the change, until it is written again"};
  if (e.changed_bytes == 0 && !e.sensitive)
    return {not_shown, str("with ", trials,
                           " random contents of what it reads, the instruction writes the same "
                           "bytes; this is no proof")};
  if (e.changed_bytes == 0)
    return {
        unnoticed,
        "with other contents the instruction would write other bytes, but not for these samples"};
  if (e.readers.empty() && !e.reaches_host)
    return {not_shown, str("nothing reads the ", e.changed_bytes,
                           " bytes that it changes for these samples; this is no proof")};
  std::string names;
  for (std::uint32_t layer : e.readers)
    names += str(names.empty() ? "" : ", ", "'", program.layers[layer], "'");
  if (!e.sensitive_reader && !e.reaches_host)
    return {not_shown, str("the ", e.changed_bytes, " bytes that it changes are read by ", names,
                           ", which writes the same bytes for ", trials,
                           " random contents of them; this is no proof")};
  return {unnoticed, str(e.changed_bytes, " bytes change and are read by ", names,
                         ", but no layer of these samples shows it")};
}

}  // namespace longshore
