#include "measure/change.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "npu_program.hpp"
#include "program/instruction_def.hpp"
#include "random.hpp"

namespace longshore::tests::change_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Verdict = Judgement::Verdict;

/// A program has no CPU steps of its own here.
struct NoHost final : Host {
  Status run_step(const Step&, std::size_t, std::span<std::byte>) noexcept override {
    return Status::error(Code::internal, "there is no step");
  }
};

/// Layer 0 loads 64 constants to SRAM 0, layer 1 works on them, layer 2 stores 16 bytes from SRAM
/// 256 as the output.
struct Chain {
  Program program;

  Chain() {
    Machine& m = program.machine;
    m.present = true;
    m.coherent = true;
    m.sram_bytes = 1024;
    m.mac_alignment = 1;
    m.semaphores = 4;
    program.layers = {"load", "work", "store"};
    std::vector<std::byte> constants(64);
    for (std::size_t i = 0; i < 64; i++) constants[i] = static_cast<std::byte>(i);
    program.constants = make_blob(std::move(constants));
    program.arena_bytes = 64;
    ProgramValue out;
    out.name = "out";
    out.dtype = DType::i8;
    out.shape = {16};
    program.values = {out};
    program.outputs = {0};
    Dma load;
    load.dram = Dram::constants;
    load.run_bytes = 64;
    add(Queue::dma_in, load, 0);
    add(Queue::dma_in, Signal{0, 1}, 0);
    add(Queue::vector, Wait{0, 1}, 1);
  }
  void add(Queue queue, Operation operation, std::uint32_t layer) {
    Instruction i;
    i.queue = queue;
    i.layer = layer;
    i.operation = operation;
    program.queues[static_cast<int>(queue)].push_back(i);
  }
  void work(Operation operation) { add(Queue::vector, operation, 1); }
  void end() {
    add(Queue::vector, Signal{1, 1}, 1);
    add(Queue::dma_out, Wait{1, 1}, 2);
    Dma store;
    store.sram_address = 256;
    store.run_bytes = 16;
    add(Queue::dma_out, store, 2);
  }
  /// What changing one instruction by `change` shows.
  template <class T, class F>
  ChangeEffect effect(Queue queue, std::size_t index, F change) {
    Program changed = program;
    change(*changed.queues[static_cast<int>(queue)][index].operation.get_if<T>());
    EXPECT_TRUE(check(program).ok()) << check(program).text();
    EXPECT_TRUE(check(changed).ok()) << check(changed).text();
    NoHost host;
    const Result<ChangeEffect> e =
        effect_of_change(program, changed, {queue, index}, host, host, seed());
    EXPECT_TRUE(e.ok()) << e.status().text();
    return e.ok() ? *e : ChangeEffect();
  }
};

Copy copy_16(std::uint32_t from, std::uint32_t to) {
  Copy c;
  c.from = from;
  c.to = to;
  c.run_bytes = 16;
  return c;
}

TEST(Change, ThatIsReadShowsItsReaders) {
  Chain c;
  c.work(copy_16(8, 256));
  c.end();
  const ChangeEffect e = c.effect<Copy>(Queue::vector, 1, [](Copy& o) { o.from = 9; });
  EXPECT_TRUE(e.sensitive);
  EXPECT_EQ(e.changed_bytes, 16u);
  EXPECT_THAT(e.readers, ElementsAre(2u));
  EXPECT_TRUE(e.reaches_host);
  EXPECT_EQ(judge(e, c.program).verdict, Verdict::unnoticed);  // were it that no layer differs
}

TEST(Change, OfControlIsTimingOnly) {
  Chain c;
  c.add(Queue::vector, Mark{true}, 1);
  c.work(copy_16(8, 256));
  c.end();
  const ChangeEffect e = c.effect<Mark>(Queue::vector, 1, [](Mark& o) { o.begin = false; });
  EXPECT_TRUE(e.control);
  EXPECT_EQ(e.changed_bytes, 0u);
  EXPECT_EQ(judge(e, c.program).verdict, Verdict::timing_only);
}

/// Sampling is no proof; `inject` does not draw such an operand.
TEST(Change, OfAStrideThatIsNeverTakenIsNotShown) {
  Chain c;
  c.work(copy_16(8, 256));
  c.end();
  const ChangeEffect e = c.effect<Copy>(Queue::vector, 1, [](Copy& o) { o.from_stride[1] = 77; });
  EXPECT_FALSE(e.sensitive);
  const Judgement j = judge(e, c.program);
  EXPECT_EQ(j.verdict, Verdict::not_shown);
  EXPECT_THAT(j.why, HasSubstr("no proof"));
  EXPECT_FALSE(uses(c.program.queues[3][1].operation, "from_stride_1"));
}

TEST(Change, OfBytesThatNobodyReadsIsDead) {
  Chain c;
  Fill f;
  f.address = 512;
  f.run_bytes = 8;
  f.value = 3;
  c.work(f);
  c.work(copy_16(8, 256));
  c.end();
  const ChangeEffect e = c.effect<Fill>(Queue::vector, 1, [](Fill& o) { o.value = 4; });
  EXPECT_EQ(e.changed_bytes, 8u);
  EXPECT_TRUE(e.readers.empty());
  const Judgement j = judge(e, c.program);
  EXPECT_EQ(j.verdict, Verdict::dead);
  EXPECT_THAT(j.why, HasSubstr("proved"));
}

TEST(Change, OfBytesThatAreWrittenAgainFirstIsDead) {
  Chain c;
  c.work(copy_16(8, 256));
  c.work(copy_16(16, 256));
  c.end();
  const ChangeEffect e = c.effect<Copy>(Queue::vector, 1, [](Copy& o) { o.from = 24; });
  EXPECT_EQ(e.changed_bytes, 16u);
  EXPECT_TRUE(e.readers.empty());
  EXPECT_EQ(judge(e, c.program).verdict, Verdict::dead);
}

// A copy that goes elsewhere: what it no longer writes counts, too.
TEST(Change, OfTheTargetLeavesTheOldBytesStale) {
  Chain c;
  c.work(copy_16(8, 256));
  c.end();
  const ChangeEffect e = c.effect<Copy>(Queue::vector, 1, [](Copy& o) { o.to = 600; });
  EXPECT_EQ(e.changed_bytes, 32u);
  EXPECT_TRUE(e.reaches_host);
  EXPECT_TRUE(e.may_be_read);
}

// The same bytes by chance: 7 where 7 stood. What is read later is no proof of anything.
TEST(Change, ThatIsReadIsNeverDead) {
  Chain c;
  Fill f;
  f.address = 256;
  f.run_bytes = 16;
  f.value = 7;
  c.work(f);
  c.work(f);
  c.end();
  const ChangeEffect e = c.effect<Fill>(Queue::vector, 2, [](Fill& o) { o.address = 240; });
  EXPECT_TRUE(e.may_be_read);
  EXPECT_NE(judge(e, c.program).verdict, Verdict::dead);
}

// 127 as the highest code shows only where a sum gets there: no sample did, so nothing is proved.
TEST(Change, ThatTheSamplesDoNotReachIsUnnoticedNotDead) {
  Chain c;
  Requantise r;
  r.in = {0, 16, 1};
  r.out = {256, 16, 1};
  r.height = 1;
  r.width = 16;
  r.channels = 1;
  c.work(r);
  c.end();
  const ChangeEffect e =
      c.effect<Requantise>(Queue::vector, 1, [](Requantise& o) { o.highest = 100; });
  EXPECT_EQ(e.changed_bytes, 0u);
  EXPECT_TRUE(e.sensitive);
  EXPECT_EQ(judge(e, c.program).verdict, Verdict::unnoticed);
}

// Channel 1 has a weight of zero, so what its input holds does not show; but it is read.
TEST(Change, OfWhatZeroWeightsMultiplyIsNotShown) {
  Chain c;
  Fill input;  // two channels of one pixel at 128
  input.address = 128;
  input.run_bytes = 1;
  input.value = 5;
  Fill second = input;
  second.address = 129;
  c.work(input);
  c.work(second);
  Fill weights = input;  // (1, 0) at 160
  weights.address = 160;
  weights.value = 1;
  Fill zero = weights;
  zero.address = 161;
  zero.value = 0;
  c.work(weights);
  c.work(zero);
  Fill one = input;  // parameters at 192: bias 0, real 1.0f = 0x3f800000
  one.address = 192;
  one.run_bytes = 16;
  one.value = 0;
  c.work(one);
  one.run_bytes = 1;
  one.address = 198;
  one.value = static_cast<std::int8_t>(0x80);
  c.work(one);
  one.address = 199;
  one.value = 0x3f;
  c.work(one);
  c.work(Signal{2, 1});
  c.add(Queue::mac, Wait{2, 1}, 1);
  Conv conv;
  conv.finish = true;
  conv.in = {128, 2, 2};
  conv.in_h = conv.in_w = 1;
  conv.in_c = 2;
  conv.kernel_h = conv.kernel_w = conv.stride_h = conv.stride_w = conv.dilation_h =
      conv.dilation_w = 1;
  conv.weights = 160;
  conv.weight_out_stride = conv.weight_tap_stride = 2;
  conv.parameters = 192;
  conv.out = {256, 1, 1};
  conv.out_h = conv.out_w = conv.out_c = 1;
  conv.rounding = Rounding::f32_even;
  c.add(Queue::mac, conv, 1);
  c.add(Queue::mac, Signal{3, 1}, 1);
  c.work(Wait{3, 1});
  c.end();
  const ChangeEffect first = c.effect<Fill>(Queue::vector, 1, [](Fill& o) { o.value = 6; });
  EXPECT_TRUE(first.sensitive_reader);
  EXPECT_TRUE(first.reaches_host);
  const ChangeEffect e = c.effect<Fill>(Queue::vector, 2, [](Fill& o) { o.value = 6; });
  EXPECT_EQ(e.changed_bytes, 1u);
  EXPECT_THAT(e.readers, ElementsAre(1u));
  EXPECT_FALSE(e.sensitive_reader);
  const Judgement j = judge(e, c.program);
  EXPECT_EQ(j.verdict, Verdict::not_shown);
  EXPECT_THAT(j.why, HasSubstr("'work', which writes the same bytes for 8 random contents"));
}

}  // namespace
}  // namespace longshore::tests::change_test
