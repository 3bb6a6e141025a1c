// Random programs with random synchronisation: what the verifier accepts gives the same bytes in
// any legal order.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "debug/session.hpp"
#include "npu_program.hpp"
#include "random.hpp"
#include "random_instruction.hpp"
#include "sim/verify.hpp"

namespace longshore::random_program_test {
namespace {

constexpr std::uint32_t buffer_bytes = 256, buffers = 6,
                        cells = 4;   // a buffer has cells of 64 bytes
constexpr std::uint64_t shared = 4;  // buffers of the arena

/// One access after the other, as one engine would do it; then each goes to its own engine, with a
/// semaphore wherever two engines touch the same bytes - except where `forget` drops it.
class Generator {
 public:
  Generator(std::mt19937& rng, double forget) : rng_(rng), forget_(forget) {
    p_.machine = tests::small_machine();
    p_.machine.sram_bytes = buffers * buffer_bytes + 4096;
    p_.machine.cores = 2;
    p_.machine.mac_alignment = 1;
    p_.arena_bytes = shared * buffer_bytes;
    std::vector<std::byte> constants(4096);
    for (std::byte& b : constants) b = static_cast<std::byte>(rng());
    for (std::size_t i = 0; i < 256; i++) {  // parameter blocks
      const ChannelParameters c{static_cast<std::int32_t>(rng() % 200), 0.05f, 1 << 30, -3};
      if (i * 16 + 16 <= 1024)
        std::memcpy(constants.data() + i * 16, static_cast<const void*>(&c), 16);
    }
    p_.constants = make_blob(std::move(constants));
    for (std::uint64_t i = 0; i < shared; i++) {
      ProgramValue v;
      v.dtype = DType::i8, v.offset = i * buffer_bytes;
      v.shape.push(buffer_bytes);
      p_.values.push_back(v);
    }
  }

  Program make(int length) {
    for (std::uint32_t core = 0; core < 2; core++) {  // everything is written once
      load(core, Dram::constants, 0, buffers * buffer_bytes, 1024);
      load(core, Dram::constants, 1024, 0, buffers * buffer_bytes);
    }
    for (std::uint32_t v = 0; v < shared; v++) cpu_access({}, v);
    for (int i = 0; i < length; i++) one();
    assemble();
    return p_;
  }

 private:
  struct Access {
    EngineId engine;
    Instruction instruction;  // engine < cpu
    std::vector<Step> steps;  // the CPU's
    std::vector<Region> regions;
  };

  std::uint32_t pick(std::uint32_t n) { return static_cast<std::uint32_t>(rng_()) % n; }

  void emit(Queue queue, std::uint32_t core, const Operation& operation) {
    Access a;
    a.instruction.queue = queue, a.instruction.core = static_cast<std::uint8_t>(core),
    a.instruction.operation = operation;
    a.engine = engine_of(a.instruction);
    for (Region r : regions_of(a.instruction)) {
      if (r.space == Space::constants) continue;
      // One address space: SRAMs apart, the arena behind them.
      r.address += r.space == Space::sram ? core << 20 : 16 << 20;
      a.regions.push_back(r);
    }
    accesses_.push_back(a);
  }
  void load(std::uint32_t core, Dram dram, std::uint64_t from, std::uint32_t to,
            std::uint32_t bytes) {
    Dma d;
    d.dram = dram, d.dram_address = from, d.sram_address = to, d.run_bytes = bytes;
    emit(Queue::dma_in, core, d);
  }
  /// Reads some values and writes one, with the cache care that belongs to it.
  void cpu_access(std::vector<std::uint32_t> in, std::uint32_t out) {
    Access a;
    a.engine = 8;
    Step op;
    op.name = "mix", op.outputs = {out};
    op.inputs = std::move(in);
    const auto cache = [&](Step::Kind kind, std::uint32_t v) {
      Step s;
      s.kind = kind, s.offset = v * buffer_bytes, s.bytes = buffer_bytes;
      a.steps.push_back(s);
    };
    for (std::uint32_t v : op.inputs) {
      cache(Step::Kind::invalidate, v);
      a.regions.push_back({Space::sram, false, "", (16 << 20) + v * buffer_bytes, buffer_bytes});
    }
    a.steps.push_back(op);
    cache(Step::Kind::clean, out);
    a.regions.push_back({Space::sram, true, "", (16 << 20) + out * buffer_bytes, buffer_bytes});
    accesses_.push_back(a);
  }
  Tile tile(std::uint32_t buffer, std::uint32_t cell) {
    return {buffer * buffer_bytes + cell * 64, 64, 16};
  }

  /// Any instruction that there is, with whatever operands.
  void any(std::uint32_t core) {
    tests::Places places{.dram_bytes = p_.arena_bytes, .pixel = 16, .row = 64, .most_extent = 3};
    for (std::uint32_t cell = 0; cell < buffers * cells; cell++) places.sram.push_back(cell * 64);
    const auto meddles = [](const Region& r) {  // the numbers behind the buffers stay numbers
      return r.restricted ||
             (r.write && r.space == Space::sram && r.end() > buffers * buffer_bytes);
    };
    for (int attempt = 0; attempt < 50; attempt++) {
      const InstructionDef& def =
          *instructions::all()[pick(static_cast<std::uint32_t>(instructions::all().size()))];
      if (def.control) continue;
      const std::optional<Instruction> i = tests::random_instruction(
          def, p_.machine, {p_.arena_bytes, p_.constants->size()}, places, rng_);
      if (!i) continue;
      const Regions regions = regions_of(*i);
      if (std::any_of(regions.begin(), regions.end(), meddles)) continue;
      return emit(i->queue, core, i->operation);
    }
  }

  void one() {
    const std::uint32_t core = pick(2), from = pick(buffers);
    const std::uint32_t to = (from + 1 + pick(buffers - 1)) % buffers;
    Dma d;
    switch (pick(9)) {
      case 7:
      case 8:
        return any(core);
      case 0:
        return load(core, Dram::arena, pick(shared) * buffer_bytes + pick(3) * 64,
                    to * buffer_bytes, 64 + pick(2) * 64);
      case 1:
        d.dram_address = pick(shared) * buffer_bytes, d.sram_address = from * buffer_bytes;
        d.run_bytes = 16, d.count[2] = 8, d.dram_stride[2] = 32, d.sram_stride[2] = 16;
        return emit(Queue::dma_out, core, d);
      case 2:
        return cpu_access({pick(2), 2}, 3);
      case 3: {
        Conv c;
        c.in = tile(from, pick(2)), c.out = tile(to, pick(cells));
        c.in_w = c.out_w = 4, c.in_c = c.out_c = 16;
        c.weights = buffers * buffer_bytes + 512, c.weight_out_stride = 16,
        c.weight_tap_stride = 16;
        c.parameters = buffers * buffer_bytes;
        return emit(Queue::mac, core, c);
      }
      case 4: {
        Eltwise e;
        e.a = tile(from, pick(cells)), e.b = tile(from, pick(cells)), e.out = tile(to, pick(cells));
        e.width = 4, e.channels = 1 + pick(16), e.a_scale = 0.7f, e.b_scale = 0.4f;
        return emit(Queue::vector, core, e);
      }
      case 5: {
        Pool p;
        p.in = tile(from, 0), p.out = tile(to, 1), p.in_h = 2, p.in_w = 4,
        p.kernel_h = p.kernel_w = 2, p.out_w = 3, p.channels = 16;
        return emit(Queue::vector, core, p);
      }
      default: {
        Fill f;
        f.address = to * buffer_bytes + pick(16), f.run_bytes = 1 + pick(8),
        f.count[2] = 1 + pick(8), f.stride[2] = 16;
        f.value = static_cast<std::int8_t>(pick(256));
        return emit(pick(2) ? Queue::dma_in : Queue::vector, core, f);
      }
    }
  }

  static bool conflict(const Access& a, const Access& b) {
    for (Region x : a.regions)
      for (Region y : b.regions) {
        x.space = y.space = Space::sram;
        if ((x.write || y.write) && overlap(x, y)) return true;
      }
    return false;
  }

  void assemble() {
    const std::size_t n = accesses_.size();
    std::vector<std::vector<std::uint32_t>> waits(n), signals(n);
    std::map<std::pair<EngineId, EngineId>, std::pair<std::uint32_t, std::size_t>>
        pairs;  // semaphore, last signaller + 1
    for (std::size_t b = 0; b < n; b++)
      for (std::size_t a = b; a-- > 0;) {
        if (accesses_[a].engine == accesses_[b].engine || !conflict(accesses_[a], accesses_[b]))
          continue;
        if (rng_() % 1000 < forget_ * 1000) continue;
        const auto [at, fresh] = pairs.try_emplace({accesses_[a].engine, accesses_[b].engine},
                                                   static_cast<std::uint32_t>(pairs.size()), 0);
        auto& [semaphore, last] = at->second;
        if (a + 1 <= last)
          continue;  // an earlier wait of b's engine follows a later signal already
        last = a + 1;
        signals[a].push_back(semaphore);
        waits[b].push_back(semaphore);
      }
    p_.machine.semaphores = 128;
    for (std::size_t i = 0; i < n; i++) {
      const Access& a = accesses_[i];
      const auto control = [&](const Operation& o, Step::Kind kind, std::uint32_t semaphore) {
        Instruction c = a.instruction;
        c.operation = o;
        Step s;
        s.kind = kind, s.semaphore = semaphore;
        if (a.engine == 8)
          p_.steps.push_back(s);
        else
          p_.queues[a.engine % queue_count].push_back(c);
      };
      for (std::uint32_t s : waits[i]) control(Wait{s}, Step::Kind::wait, s);
      if (a.engine == 8)
        p_.steps.insert(p_.steps.end(), a.steps.begin(), a.steps.end());
      else
        p_.queues[a.engine % queue_count].push_back(a.instruction);
      for (std::uint32_t s : signals[i]) control(Signal{s}, Step::Kind::signal, s);
    }
  }

  std::mt19937& rng_;
  double forget_;
  Program p_;
  std::vector<Access> accesses_;
};

struct MixingHost final : Host {
  Status run_step(const Step& step, std::size_t index,
                  std::span<std::byte> arena) noexcept override {
    std::uint32_t hash = static_cast<std::uint32_t>(index) * 2654435761u;
    for (std::uint32_t v : step.inputs)
      for (std::uint32_t i = 0; i < buffer_bytes; i++)
        hash = (hash ^ static_cast<std::uint8_t>(arena[v * buffer_bytes + i])) * 16777619u;
    for (std::uint32_t i = 0; i < buffer_bytes; i++, hash = hash * 1664525u + 1013904223u)
      arena[step.outputs[0] * buffer_bytes + i] = static_cast<std::byte>(hash >> 24);
    return {};
  }
};

/// SRAM and DRAM after a run. The seed draws the order; 0: the predicted one.
std::vector<std::byte> final_bytes(Simulator& simulator, const Program& p, std::uint64_t seed) {
  MixingHost host;
  std::vector<std::byte> arena(p.arena_bytes), out;
  const Status status =
      seed == 0 ? simulator.run(arena, host) : simulator.run_in_random_order(arena, host, seed);
  EXPECT_TRUE(status.ok()) << status.text();
  for (const auto bytes :
       {simulator.memory().sram(0), simulator.memory().sram(1), simulator.memory().dram()})
    out.insert(out.end(), bytes.begin(), bytes.end());
  return out;
}

TEST(RandomPrograms, AcceptedOnesDoNotDependOnTheOrder) {
  int accepted = 0, refused = 0, shown = 0;
  for (unsigned n = 0; n < 240; n++) {
    std::mt19937 rng(tests::seed() * 7919 + n);
    const Program p = Generator(rng, 0.02 * (n % 3)).make(12 + static_cast<int>(n % 50));
    const std::vector<Refusal> refusals = verify(p);
    if (n % 3 == 0) {
      EXPECT_TRUE(refusals.empty())
          << "seed " << n << ": " << refusals[0].text;  // nothing was forgotten
    }
    Result<Simulator> simulator = Simulator::create(p, {.poison = refusals.empty()});
    ASSERT_TRUE(simulator.ok()) << simulator.status().text();
    const std::vector<std::byte> first = final_bytes(*simulator, p, 0);
    bool same = true;
    for (std::uint64_t order = 1; order <= 8; order++)
      same = final_bytes(*simulator, p, order) == first && same;
    if (refusals.empty()) {
      accepted++;
      EXPECT_TRUE(same) << "accepted, but it depends on the order: seed " << n;
    } else {
      refused++;
      shown += !same;
    }
  }
  EXPECT_GT(accepted, 90);
  EXPECT_GT(refused, 40);
  EXPECT_GT(shown, 10);  // what is refused does go wrong in some order
}

/// A break on an address stops before each instruction that changes a byte there, and before none
/// that leaves what it does not write.
TEST(RandomPrograms, WatchedBytesChangeWhereTheDebuggerStops) {
  int changes = 0, stops = 0;
  for (unsigned n = 0; n < 60; n++) {
    std::mt19937 rng(tests::seed() * 6151 + n);
    const Program p = Generator(rng, 0).make(12 + static_cast<int>(n % 50));
    MixingHost host;
    debug::Session session(p, host, {}, {});
    debug::Break watch;
    watch.kind = debug::Break::Kind::address;
    watch.stretch.space = rng() % 2 ? Space::sram : Space::arena;
    watch.stretch.core = static_cast<std::uint32_t>(rng() % 2);
    watch.stretch.begin = rng() % (shared * buffer_bytes - 24);
    watch.stretch.end = watch.stretch.begin + 1 + rng() % 24;
    session.add(watch);
    debug::Session walker(p, host, {}, {});
    std::uint32_t next = 0;  // the place where the session stands
    for (bool stands = false; !walker.ended();) {
      if (!stands) stands = session.run() != nullptr, next = session.position();
      const std::uint32_t at = walker.position();
      const auto look = [&] {
        const std::span<const std::byte> bytes = walker.memory(watch.stretch);
        return std::vector<std::byte>(bytes.begin(), bytes.end());
      };
      const std::vector<std::byte> before = look();
      walker.step();
      const bool changed = look() != before, stopped = stands && at == next;
      EXPECT_TRUE(stopped || !changed) << "net " << n << ", instruction " << at;
      changes += changed;
      stops += stopped;
      if (stopped) stands = false;
    }
  }
  EXPECT_GT(changes, 100);
  EXPECT_LE(stops, changes * 2);  // what is written may be what was there
}

}  // namespace
}  // namespace longshore::random_program_test
