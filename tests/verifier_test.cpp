// Programs broken on purpose: each is refused, with the two places and the bytes.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "npu_program.hpp"
#include "sim/verify.hpp"

namespace longshore::verifier_test {
namespace {

using tests::Pipeline;
using Kind = Refusal::Kind;

constexpr EngineId dma_in = 0, dma_out = 1, mac = 2, vector = 3, cpu = 4;

struct Expected {
  Kind kind;
  Location first, second;
  std::uint64_t begin = 0, end = 0;
};

/// Exactly this is refused, maybe among others; the text names both places and the bytes.
void expect_refused(const Program& program, const Expected& e) {
  const std::vector<Refusal> refusals = verify(program);
  ASSERT_FALSE(refusals.empty());
  const auto found = std::find_if(refusals.begin(), refusals.end(), [&](const Refusal& r) {
    return r.kind == e.kind && r.first == e.first && r.second == e.second && r.begin == e.begin &&
           r.end == e.end;
  });
  std::string all;
  for (const Refusal& r : refusals) all += r.text + "\n";
  ASSERT_NE(found, refusals.end()) << all;
  for (const Location* l : {&e.first, &e.second}) {
    if (!l->present) continue;
    const std::string place =
        engine_name(program.machine, l->engine) + "[" + std::to_string(l->index) + "]";
    EXPECT_NE(found->text.find(place), std::string::npos) << found->text;
  }
  if (e.end > e.begin && e.kind != Kind::malformed) {
    const std::string bytes = std::to_string(e.begin) + ".." + std::to_string(e.end - 1);
    EXPECT_NE(found->text.find(bytes), std::string::npos) << found->text;
  }
  EXPECT_FALSE(verified(program).ok());
}

Location at(EngineId engine, std::uint32_t index) { return {true, engine, index}; }

TEST(Verifier, AcceptsThePipeline) {
  for (std::uint32_t tiles : {1u, 2u, 3u, 7u})
    for (const Refusal& r : verify(Pipeline(tiles).program)) ADD_FAILURE() << r.text;
}

TEST(Verifier, AWaitRemoved) {
  Pipeline p;
  p.erase(Queue::mac, p.find<Wait>(Queue::mac));
  expect_refused(p.program, {Kind::semaphore, at(dma_in, p.find<Signal>(Queue::dma_in, 3)),
                             at(mac, p.find<Wait>(Queue::mac, 3))});
}

TEST(Verifier, AWaitAndItsSignalRemoved) {
  Pipeline p(1);  // the MAC array no longer waits for its load
  p.erase(Queue::mac, p.find<Wait>(Queue::mac));
  p.erase(Queue::dma_in, p.find<Signal>(Queue::dma_in));
  expect_refused(p.program, {Kind::race, at(mac, 0), at(dma_in, 2), 0, 512});
}

TEST(Verifier, ASignalDoubled) {
  Pipeline p;
  const std::uint32_t i = p.find<Signal>(Queue::vector);
  p.list(Queue::vector).insert(p.list(Queue::vector).begin() + i, p.list(Queue::vector)[i]);
  expect_refused(p.program, {Kind::semaphore, at(vector, p.find<Signal>(Queue::vector, 3)),
                             at(mac, p.find<Wait>(Queue::mac, 5))});
}

TEST(Verifier, OverlappingBuffers) {
  Pipeline p(2);  // the second tile is computed into the last 64 bytes of the first one's result
  p.at<Conv>(Queue::mac, 1).out.address = Pipeline::middle[0] + 448;
  p.at<Table>(Queue::vector, 1).in.address = Pipeline::middle[0] + 448;
  expect_refused(p.program, {Kind::race, at(mac, p.find<Conv>(Queue::mac, 1)),
                             at(vector, p.find<Table>(Queue::vector, 0)), Pipeline::middle[0] + 448,
                             Pipeline::middle[0] + 512});
}

TEST(Verifier, AStaleWeightBuffer) {
  Pipeline p(2);  // new weights arrive while the first convolution may still read the old ones
  const std::uint32_t before = p.find<Dma>(Queue::dma_in, 2);
  p.load(Dram::constants, 256, Pipeline::weights, 64, 0);
  std::rotate(p.list(Queue::dma_in).begin() + before, p.list(Queue::dma_in).end() - 1,
              p.list(Queue::dma_in).end());
  expect_refused(p.program, {Kind::race, at(dma_in, before), at(mac, p.find<Conv>(Queue::mac, 0)),
                             Pipeline::weights, Pipeline::weights + 64});
}

TEST(Verifier, SramOverflow) {
  Pipeline p;
  p.at<Table>(Queue::vector, 2).out.address = 32768 - 500;
  expect_refused(
      p.program,
      {Kind::malformed, at(vector, p.find<Table>(Queue::vector, 2)), {}, 32768, 32768 + 12});
}

TEST(Verifier, Deadlock) {
  Pipeline p(4);  // the load of tile 2 waits for tile 1 to be computed, which waits for that load
  auto& list = p.list(Queue::dma_in);
  const std::uint32_t wait = p.find<Wait>(Queue::dma_in, 1);
  std::rotate(list.begin() + wait - 2, list.begin() + wait, list.begin() + wait + 1);
  auto& macs = p.list(Queue::mac);
  const std::uint32_t free =
      p.find<Signal>(Queue::mac, 0);  // in free, of tile 0, comes after tile 1
  std::rotate(macs.begin() + free, macs.begin() + free + 1,
              macs.begin() + p.find<Conv>(Queue::mac, 1) + 1);
  expect_refused(p.program,
                 {Kind::deadlock, at(dma_in, wait - 2), at(mac, p.find<Conv>(Queue::mac, 1) + 1)});
}

TEST(Verifier, AMissingClean) {
  Pipeline p;
  p.program.steps.erase(p.program.steps.begin() + 1);
  expect_refused(p.program,
                 {Kind::stale, at(cpu, 0), at(dma_in, p.find<Dma>(Queue::dma_in, 1)), 0, 512});
}

TEST(Verifier, ACleanAfterTheSignal) {
  Pipeline p;
  std::swap(p.program.steps[1], p.program.steps[2]);
  expect_refused(p.program,
                 {Kind::stale, at(cpu, 0), at(dma_in, p.find<Dma>(Queue::dma_in, 1)), 0, 512});
}

TEST(Verifier, AMissingInvalidate) {
  Pipeline p(1);
  p.program.steps.erase(p.program.steps.begin() + 4);
  expect_refused(p.program,
                 {Kind::stale, at(dma_out, 1), at(cpu, 4), Pipeline::y, Pipeline::y + 512});
}

TEST(Verifier, AnInvalidateBeforeTheWait) {
  Pipeline p(1);
  std::swap(p.program.steps[3], p.program.steps[4]);
  expect_refused(p.program,
                 {Kind::stale, at(dma_out, 1), at(cpu, 5), Pipeline::y, Pipeline::y + 512});
}

TEST(Verifier, ADirtyLineUnderAStore) {
  Pipeline p(1);  // the CPU wrote y before and never cleaned it
  p.program.steps[0].outputs = {0, 1};
  expect_refused(p.program,
                 {Kind::lost, at(cpu, 0), at(dma_out, 1), Pipeline::y, Pipeline::y + 512});
}

TEST(Verifier, AnInvalidateOfBytesNotYetCleaned) {
  Pipeline p(1);
  p.program.steps[1].kind = Step::Kind::invalidate;
  expect_refused(p.program, {Kind::lost, at(cpu, 1), at(dma_in, 2), 0, 512});
}

/// The CPU writes 32 bytes in front of the NPU's result, in one line with it: cleaning them brings
/// the line's old rest back.
TEST(Verifier, AWriteThatTearsALine) {
  for (const bool shared_line : {true, false}) {
    Pipeline p(1);
    ProgramValue v = p.value("small", shared_line ? Pipeline::y : Pipeline::y - 64);
    v.shape = Shape();
    v.shape.push(32);
    p.program.values.push_back(v);
    if (shared_line) {
      p.program.values[1].offset = p.at<Dma>(Queue::dma_out).dram_address = Pipeline::y + 32;
      p.program.steps[4].bytes = 576;
    }
    Step write = p.program.steps[0];
    write.outputs = {2};
    Step clean = p.program.steps[1];
    clean.offset = shared_line ? Pipeline::y : Pipeline::y - 64, clean.bytes = 64;
    p.program.steps.insert(p.program.steps.begin() + 4, {write, clean});
    if (!shared_line) {
      EXPECT_TRUE(verify(p.program).empty());
      continue;
    }
    expect_refused(p.program,
                   {Kind::lost, at(cpu, 4), at(cpu, 7), Pipeline::y + 32, Pipeline::y + 64});
  }
}

TEST(Verifier, DmaOutsideTheArena) {
  Pipeline p;
  p.at<Dma>(Queue::dma_out, 3).dram_address = p.program.arena_bytes - 12;
  expect_refused(
      p.program,
      {Kind::malformed, at(dma_out, p.find<Dma>(Queue::dma_out, 3)), {}, 16384, 16384 + 500});
}

TEST(Verifier, UnwrittenSram) {
  Pipeline p(1);
  p.at<Dma>(Queue::dma_in, 1).run_bytes = 496;
  expect_refused(p.program, {Kind::unwritten, at(mac, 1), {}, 496, 512});
}

TEST(Verifier, AWaitWithoutASignal) {
  Pipeline p;
  Instruction i = p.list(Queue::vector)[0];
  i.operation = Wait{40};
  p.list(Queue::vector).insert(p.list(Queue::vector).begin(), i);
  expect_refused(p.program, {Kind::semaphore, at(vector, 0), {}});
}

TEST(Verifier, TwoQueuesWriteOneAccumulator) {
  Pipeline p(1);  // the MAC array keeps sums where the vector unit collects a mean
  Conv& conv = p.at<Conv>(Queue::mac);
  conv.finish = false;
  conv.accumulators = {20480, 512, 64, DType::i32};
  Reduce reduce;
  reduce.finish = false;
  reduce.in = Pipeline::tile(Pipeline::weights), reduce.channels = 16,
  reduce.accumulators = 20480 + 64;
  Instruction i;
  i.queue = Queue::vector, i.operation = reduce;
  p.list(Queue::vector).insert(p.list(Queue::vector).begin(), i);
  expect_refused(p.program, {Kind::race, at(vector, 0), at(mac, 1), 20480 + 64, 20480 + 128});
}

TEST(Verifier, Misaligned) {
  Pipeline p;
  p.at<Conv>(Queue::mac).weights += 8;
  expect_refused(p.program, {Kind::malformed, at(mac, p.find<Conv>(Queue::mac)), {}});
  EXPECT_NE(verify(p.program)[0].text.find("misaligned"), std::string::npos);
}

TEST(Verifier, ASemaphoreOfTwoEngines) {
  Pipeline p(1);
  p.at<Signal>(Queue::mac).semaphore = 5;
  p.at<Wait>(Queue::vector).semaphore = 5;
  expect_refused(p.program, {Kind::semaphore, at(mac, p.find<Signal>(Queue::mac)),
                             at(vector, p.find<Signal>(Queue::vector))});
}

TEST(Verifier, ASemaphoreThatCountsTooFar) {
  Pipeline p(6);
  p.program.machine.semaphore_limit = 1;  // dma_in runs two tiles ahead of the MAC array
  expect_refused(p.program, {Kind::semaphore, at(dma_in, p.find<Signal>(Queue::dma_in, 1)), {}});
}

/// Byte for byte: two engines may write interleaved channels without an order.
TEST(Verifier, InterleavedChannelsAreNoRace) {
  for (const bool clash : {false, true}) {
    Program p;
    p.machine = tests::small_machine();
    p.machine.cores = 1;
    for (const Queue queue : {Queue::vector, Queue::dma_in}) {
      Fill fill;
      fill.address = queue == Queue::vector ? 0 : clash ? 7 : 8;
      fill.run_bytes = 8, fill.count[2] = 100, fill.stride[2] = 16;
      Instruction i;
      i.queue = queue, i.operation = fill;
      p.queues[static_cast<int>(queue)].push_back(i);
    }
    const std::vector<Refusal> refusals = verify(p);
    EXPECT_EQ(refusals.size(), clash ? 1u : 0u);
    if (clash) {
      EXPECT_EQ(refusals[0].kind, Kind::race);
      EXPECT_EQ(refusals[0].begin, 7u);
      EXPECT_EQ(refusals[0].end, 7u + 99 * 16 + 1);
    }
  }
}

/// Cores share the arena, not the SRAM.
TEST(Verifier, CoresHaveTheirOwnSram) {
  for (const std::uint32_t other : {0u, 1u}) {
    Program p;
    p.machine = tests::small_machine();
    p.machine.cores = 2;
    for (const Queue queue : {Queue::vector, Queue::dma_in}) {
      Fill fill;
      fill.run_bytes = 64;
      Instruction i;
      i.queue = queue, i.operation = fill,
      i.core = queue == Queue::dma_in ? static_cast<std::uint8_t>(other) : 0;
      p.queues[static_cast<int>(queue)].push_back(i);
    }
    EXPECT_EQ(verify(p).empty(), other == 1);
  }
}

/// Core 1 reads what the DMA of core 0 loads for both.
TEST(Verifier, ALoadForSeveralCores) {
  const auto refused = [](std::uint32_t cores, bool waits) {
    Program p;
    p.machine = tests::small_machine();
    p.machine.cores = 2, p.machine.dma_shared_loads = true;
    p.constants = make_blob(std::vector<std::byte>(64));
    Dma load;
    load.dram = Dram::constants, load.run_bytes = 64, load.cores = cores;
    Copy copy;
    copy.to = 128, copy.run_bytes = 64;
    auto &loads = p.queues[static_cast<int>(Queue::dma_in)],
         &copies = p.queues[static_cast<int>(Queue::vector)];
    loads.push_back({Queue::dma_in, 0, no_index, load});
    if (waits) loads.push_back({Queue::dma_in, 0, no_index, Signal{0, 1}});
    if (waits) copies.push_back({Queue::vector, 1, no_index, Wait{0, 1}});
    copies.push_back({Queue::vector, 1, no_index, copy});
    std::vector<Kind> kinds;
    for (const Refusal& r : verify(p)) kinds.push_back(r.kind);
    return kinds;
  };
  EXPECT_EQ(refused(0b11, true), std::vector<Kind>{});
  EXPECT_EQ(refused(0b10, true), std::vector<Kind>{});
  EXPECT_EQ(refused(0b11, false), std::vector{Kind::race});
  EXPECT_EQ(refused(0b01, true), std::vector{Kind::unwritten});
  EXPECT_EQ(refused(0, true), std::vector{Kind::unwritten});
}

TEST(Verifier, TenThousandInstructionsInASecond) {
  Pipeline big(1024);
  big.program.arena_bytes = 2 << 20;
  const std::uint64_t y = 1 << 20;
  big.program.values[1].offset = y;
  big.program.steps[4].offset = y;
  for (Instruction& i : big.list(Queue::dma_out))
    if (auto* d = i.operation.get_if<Dma>()) d->dram_address += y - Pipeline::y;
  std::size_t n = 0;
  for (const auto& q : big.program.queues) n += q.size();
  ASSERT_GT(n, 10000u);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(verify(big.program).empty());
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), 1.0);
}

}  // namespace
}  // namespace longshore::verifier_test
