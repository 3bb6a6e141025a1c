// Whole programs: bytes, caches, time.
#include <gtest/gtest.h>

#include "npu_program.hpp"
#include "random.hpp"
#include "sim/dram_server.hpp"
#include "sim/verify.hpp"

namespace longshore::sim_test {
namespace {

using tests::Pipeline;
using tests::PipelineHost;

Status run(const Pipeline& p, PipelineHost& host, SimulatorOptions options = {}) {
  Result<Simulator> simulator = Simulator::create(p.program, options);
  if (!simulator.ok()) return simulator.status();
  std::vector<std::byte> arena(p.program.arena_bytes, std::byte{0x11});
  return simulator->run(arena, host);
}

TEST(Simulator, PipelineGivesTheBytesOfTheFormulas) {
  for (const bool coherent : {false, true})
    for (const bool poison : {false, true}) {
      Pipeline p(5);
      p.program.machine.coherent = coherent;
      PipelineHost host(p);
      const Status status = run(p, host, {poison});
      ASSERT_TRUE(status.ok()) << status.text();
      EXPECT_EQ(host.output, p.expected(host.input)) << coherent << poison;
    }
}

TEST(Simulator, AMissingCleanReadsStaleBytes) {
  Pipeline p;
  p.program.steps.erase(p.program.steps.begin() + 1);
  PipelineHost host(p);
  ASSERT_TRUE(run(p, host).ok());
  EXPECT_NE(host.output, p.expected(host.input));
  const std::vector<std::int8_t> stale(host.input.size(),
                                       static_cast<std::int8_t>(NpuMemory::fresh_byte));
  EXPECT_EQ(host.output, p.expected(stale));  // as if x had never been written
  const Status poisoned = run(p, host, {true});
  EXPECT_FALSE(poisoned.ok());
  EXPECT_NE(std::string(poisoned.text()).find("never written"), std::string::npos)
      << poisoned.text();
}

TEST(Simulator, AMissingInvalidateLeavesTheOldView) {
  Pipeline p;
  p.program.steps.erase(p.program.steps.begin() + 4);
  PipelineHost host(p);
  ASSERT_TRUE(run(p, host).ok());
  EXPECT_EQ(host.output, std::vector<std::int8_t>(host.input.size(), 0x11));
}

TEST(Simulator, CleanWritesDirtyLinesOnly) {
  Pipeline p;  // clean y after the NPU stored it: the CPU's old lines of y are not dirty
  Step clean = p.program.steps[1];
  clean.offset = Pipeline::y;
  p.program.steps.insert(p.program.steps.begin() + 4, clean);
  PipelineHost host(p);
  ASSERT_TRUE(run(p, host).ok());
  EXPECT_EQ(host.output, p.expected(host.input));
}

TEST(Simulator, AnyLegalOrderGivesTheSameBytes) {
  for (unsigned n = 0; n < 40; n++) {
    Pipeline p(1 + n % 6, n);
    ASSERT_TRUE(verify(p.program).empty());
    PipelineHost host(p, n);
    Result<Simulator> simulator = Simulator::create(p.program);
    ASSERT_TRUE(simulator.ok());
    std::vector<std::byte> arena(p.program.arena_bytes);
    ASSERT_TRUE(simulator->run_in_random_order(arena, host, tests::seed() + n).ok());
    EXPECT_EQ(host.output, p.expected(host.input));
  }
}

TEST(Simulator, RefusesADeadlockAndAWrongArena) {
  Pipeline p;
  p.erase(Queue::vector, p.find<Signal>(Queue::vector, 1));
  PipelineHost host(p);
  const Status status = run(p, host);
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(std::string(status.text()).substr(0, 8), "deadlock") << status.text();
  Pipeline good;
  Result<Simulator> simulator = Simulator::create(good.program);
  std::vector<std::byte> small(100);
  EXPECT_FALSE(simulator->run(small, host).ok());
}

/// One DMA of 1000 bytes and one convolution, times by hand.
struct Clocked {
  Program program;
  Clocked() {
    Machine& m = program.machine;
    m = tests::small_machine();
    m.clock_mhz = 500;  // a cycle is 2 ns
    m.dma_setup_cycles = 10, m.dispatch_cycles = 5, m.dma_bytes_per_cycle = 8,
    m.dma_burst_bytes = 64;
    m.dma_outstanding = 64, m.dram_latency_ns = 100, m.dram_gb_per_s = 8;
    m.dram_read_efficiency = m.dram_write_efficiency = 1;
    m.submit_us = 2, m.interrupt_us = 3;
    program.arena_bytes = 16384;
    program.constants = make_blob(std::vector<std::byte>(8192));
    program.layers = {"a", "b"};
  }
  void add(Queue queue, const Operation& operation, std::uint32_t layer = 0) {
    Instruction i;
    i.queue = queue, i.operation = operation, i.layer = layer;
    program.queues[static_cast<int>(queue)].push_back(i);
  }
  static Dma dma(std::uint64_t from, std::uint32_t to, std::uint32_t bytes) {
    Dma d;
    d.dram = Dram::constants, d.dram_address = from, d.sram_address = to, d.run_bytes = bytes;
    return d;
  }
  Timing time() const {
    Result<Timing> t = predict(program);
    EXPECT_TRUE(t.ok()) << t.status().text();
    return t.ok() ? *t : Timing();
  }
};

TEST(Schedule, OneDmaAlone) {
  Clocked c;
  c.add(Queue::dma_in, Clocked::dma(0, 0, 4096));
  // dispatch 10, set-up 20, latency 100, then 4096 bytes at 8 bytes per 2 ns
  EXPECT_DOUBLE_EQ(c.time().total_ns, 10 + 20 + 100 + 1024);
  c.program.machine.dram_read_efficiency = 0.25;  // 2 bytes per ns
  EXPECT_DOUBLE_EQ(c.time().total_ns, 130 + 2048);
}

TEST(Schedule, TwoDmasShareTheDram) {
  Clocked c;
  c.program.machine.cores = 2;
  c.program.machine.dram_gb_per_s = 6;  // each channel alone moves 4 bytes per ns
  c.add(Queue::dma_in, Clocked::dma(0, 0, 2048));
  c.add(Queue::dma_in, Clocked::dma(4096, 0, 4096));
  c.program.queues[0][1].core = 1;
  // From 130 both at 3 bytes/ns; the short one ends at 130 + 2048/3; the other has 2048 left, then
  // 4 per ns.
  const Timing t = c.time();
  EXPECT_NEAR(t.total_ns, 130 + 2048 / 3.0 + 2048 / 4.0, 1e-6);
  EXPECT_NEAR(t.busy_ns[0], 130 + 2048 / 3.0, 1e-6);
  EXPECT_EQ(t.dram_read_bytes, 6144u);
}

TEST(Schedule, ConstantsInAMemoryOfTheirOwnDoNotShareTheDram) {
  Clocked c;
  Machine& m = c.program.machine;
  m.cores = 2;
  m.dram_gb_per_s = 4, m.constants_gb_per_s = 2, m.constants_latency_ns = 40;
  c.add(Queue::dma_in, Clocked::dma(0, 0, 2048));
  Dma store = Clocked::dma(0, 0, 4096);
  store.dram = Dram::arena;
  c.add(Queue::dma_out, store);
  c.program.queues[static_cast<int>(Queue::dma_out)][0].core = 1;
  // Both at their own rate: dispatch 10, set-up 20, latency 40 or 100, and 2 or 4 bytes per ns.
  const Timing t = c.time();
  EXPECT_NEAR(t.busy_ns[0], 70 + 2048 / 2.0, 1e-6);
  EXPECT_NEAR(t.total_ns, 130 + 4096 / 4.0, 1e-6);
}

TEST(Schedule, AChannelThatCannotUseItsShareLeavesTheRest) {
  DramServer server(10);
  server.start(1, 0, {100, 100, 0, 2, 1});    // at most 2 bytes per ns
  server.start(2, 0, {100, 100, 0, 100, 1});  // takes what is left
  server.start(3, 0, {100, 100, 0, 100, 2});  // pays twice per byte
  EXPECT_DOUBLE_EQ(server.rate(1), 2);
  EXPECT_DOUBLE_EQ(server.rate(2), 4);
  EXPECT_DOUBLE_EQ(server.rate(3), 2);
  server.stop(2, 5);
  EXPECT_DOUBLE_EQ(server.rate(3), 4);
  EXPECT_DOUBLE_EQ(server.finish_ns(3), 5 + 90 / 4.0);
}

TEST(Schedule, DescriptorsInFlightHideLatency) {
  Clocked c;
  c.add(Queue::dma_in, Clocked::dma(0, 0, 2048));
  c.add(Queue::dma_in, Clocked::dma(2048, 4096, 2048));
  c.program.machine.dma_depth = 1;
  EXPECT_DOUBLE_EQ(c.time().total_ns, 2 * (130 + 512));
  c.program.machine.dma_depth = 2;
  EXPECT_DOUBLE_EQ(c.time().total_ns, 130 + 512 + 512);
}

TEST(Schedule, ComputeOverlapsDmaAndTimeIsChargedOnce) {
  Clocked c;
  c.program.machine.mac_setup_cycles = 0;
  c.add(Queue::dma_in, Clocked::dma(0, 0, 512));  // 130 + 128 = 258
  c.add(Queue::dma_in, Signal{0});
  c.add(Queue::dma_in, Clocked::dma(4096, 4096, 2048), 1);  // 128 of its 130 hide: 260 + 512 = 772
  c.add(Queue::mac, Wait{0});
  Conv conv;
  conv.in_h = conv.out_h = 1, conv.in_w = conv.out_w = 10, conv.in_c = 16, conv.out_c = 16;
  conv.in = {0, 160, 16}, conv.out = {8192, 160, 16};
  conv.weights = 256, conv.weight_out_stride = 16, conv.weight_tap_stride = 16,
  conv.parameters = 16384;
  c.add(Queue::mac, conv);  // 258 + 10 (dispatch) + 10 pixels * 2 ns = 288
  const Timing t = c.time();
  EXPECT_DOUBLE_EQ(t.total_ns, 772);
  EXPECT_DOUBLE_EQ(t.time.ns[static_cast<int>(Activity::compute)], 20);
  EXPECT_DOUBLE_EQ(t.time.ns[static_cast<int>(Activity::dispatch)],
                   10);  // the MAC's lies behind a DMA
  EXPECT_DOUBLE_EQ(t.time.ns[static_cast<int>(Activity::dma)], 742);
  EXPECT_DOUBLE_EQ(t.time.total_ns(), 772);
  EXPECT_DOUBLE_EQ(t.layers[0].time.total_ns() + t.layers[1].time.total_ns(), 772);
  EXPECT_DOUBLE_EQ(t.layers[0].time.total_ns(), 258 + 20);
  EXPECT_EQ(t.macs, 10u * 16 * 16);
  EXPECT_EQ(t.sram_peak_bytes, 16384u + 16 * 16);
}

TEST(Schedule, HostDispatchAndInterrupt) {
  Clocked c;
  Step op, signal, wait;
  op.cost_us = 7;
  signal.kind = Step::Kind::signal, signal.semaphore = 0;
  wait.kind = Step::Kind::wait, wait.semaphore = 1;
  c.program.steps = {op, signal, wait, op};
  c.add(Queue::dma_in, Wait{0});
  c.add(Queue::dma_in, Clocked::dma(0, 0, 4096));
  c.add(Queue::dma_in, Signal{1});
  const Timing t = c.time();
  EXPECT_DOUBLE_EQ(t.total_ns, 7000 + 2000 + (130 + 1024) + 3000 + 7000);
  EXPECT_DOUBLE_EQ(t.time.ns[static_cast<int>(Activity::host)], 14000);
  EXPECT_DOUBLE_EQ(t.time.of(Activity::waiting), 2000 + 3000);
  EXPECT_DOUBLE_EQ(t.time.of(Activity::dispatch), 10);
  EXPECT_DOUBLE_EQ(t.time.ns[static_cast<int>(Activity::dma)], 1144);
}

/// A step of the host that waits for the NPU and invalidates much has a line of its own time.
TEST(Schedule, AHostStepsLineIsItsOwnTime) {
  Clocked c;
  Machine& m = c.program.machine;
  m.cache_op_us = 1, m.cache_gb_per_s = 8;
  Step signal, wait, invalidate, op;
  signal.kind = Step::Kind::signal, signal.semaphore = 0;
  wait.kind = Step::Kind::wait, wait.semaphore = 1;
  invalidate.kind = Step::Kind::invalidate, invalidate.bytes = 16384;
  op.cost_us = 7;
  wait.layer = invalidate.layer = op.layer = 1;
  c.program.steps = {signal, wait, invalidate, op};
  c.add(Queue::dma_in, Wait{0});
  c.add(Queue::dma_in, Clocked::dma(0, 0, 4096));
  c.add(Queue::dma_in, Signal{1});
  const Timing t = c.time();
  EXPECT_DOUBLE_EQ(t.layers[1].time.own_ns(), 7000);
  EXPECT_DOUBLE_EQ(t.layers[1].time.of(Activity::waiting), 3000);
  EXPECT_DOUBLE_EQ(t.layers[1].time.of(Activity::cache), 1000 + 16384 / 8.0);
  EXPECT_DOUBLE_EQ(t.layers[0].time.own_ns() + t.layers[1].time.own_ns() + t.handover_ns(),
                   t.total_ns);
}

/// Layers and the hand-over make the total, whatever overlaps.
TEST(Schedule, TheLinesAddUpToTheTotal) {
  for (std::uint32_t tiles = 1; tiles < 9; tiles++) {
    tests::Pipeline p(tiles);
    p.program.steps.back().layer = 1;  // the others belong to no layer
    const Result<Timing> t = predict(p.program);
    ASSERT_TRUE(t.ok());
    double sum = t->handover_ns();
    for (const LayerTiming& layer : t->layers) sum += layer.time.own_ns();
    EXPECT_NEAR(sum, t->total_ns, 1e-9 * t->total_ns);
    EXPECT_GT(t->handover_ns(), 0);
  }
}

TEST(Schedule, LayerSwitchCostsOncePerLayer) {
  Clocked c;
  c.program.machine.layer_switch_cycles = 100;
  Fill fill;
  fill.run_bytes = 16;
  for (std::uint32_t layer : {0u, 0u, 1u}) c.add(Queue::vector, fill, layer);
  // (8 set-up + 1 step + 5 dispatch) * 2 ns each, and twice 200 ns
  EXPECT_DOUBLE_EQ(c.time().total_ns, 3 * 28 + 400);
}

}  // namespace
}  // namespace longshore::sim_test
