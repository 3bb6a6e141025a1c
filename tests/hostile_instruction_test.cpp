// Instructions from a hostile bundle: whatever passes `check` runs inside its memories.
#include <gtest/gtest.h>

#include "npu_program.hpp"
#include "program/instruction_def.hpp"
#include "random.hpp"
#include "sim/costs.hpp"
#include "sim/execute.hpp"

namespace longshore::hostile_instruction_test {
namespace {

/// Small numbers, powers of two and their neighbours, the greatest.
template <class T>
T wild(std::mt19937& rng) {
  if constexpr (std::is_same_v<T, float>) {
    static constexpr float values[] = {0, -1, 1e-38f, 1e38f, 1, 0.03f};
    return values[rng() % 6];
  } else if constexpr (std::is_same_v<T, bool>) {
    return rng() % 2 != 0;
  } else if constexpr (std::is_same_v<T, std::uint8_t>) {
    return static_cast<T>(rng() % 4 == 0 ? rng() : rng() % 6);  // choices, dtypes and nonsense
  } else {
    switch (rng() % 4) {
      case 0:
        return static_cast<T>(rng() % 20);
      case 1:
        return static_cast<T>((std::uint64_t{1} << rng() % 34) - rng() % 3);
      case 2:
        return static_cast<T>(16 * (rng() % 64));
      default:
        return static_cast<T>(~T{0} - static_cast<T>(rng() % 3));
    }
  }
}

TEST(HostileInstructions, StayInsideTheirMemories) {
  Conv plain = tests::Pipeline::conv(0, 2048), depthwise = plain, sums = plain;
  depthwise.depthwise = true;
  sums.finish = false, sums.accumulators = {8192, 512, 64, DType::i32};
  Dma dma;
  dma.count[0] = 3, dma.count[1] = 2, dma.count[2] = 4, dma.run_bytes = 5;
  dma.dram_stride[0] = dma.sram_stride[0] = 64, dma.dram_stride[1] = dma.sram_stride[1] = 32;
  dma.dram_stride[2] = dma.sram_stride[2] = 8;
  Copy copy;
  copy.to = 1024, copy.run_bytes = 16, copy.count[2] = 4, copy.from_stride[2] = 16,
  copy.to_stride[2] = 32;
  Fill fill;
  fill.run_bytes = 16, fill.count[2] = 4, fill.stride[2] = 16;
  const auto tile = tests::Pipeline::tile;
  Eltwise eltwise;
  eltwise.a = tile(0), eltwise.b = tile(512), eltwise.out = tile(1024), eltwise.height = 4,
  eltwise.width = 8, eltwise.channels = 16;
  Table table;
  table.in = tile(0), table.out = tile(512), table.table = 4096, table.height = 4, table.width = 8,
  table.channels = 16;
  Requantise requantise;
  requantise.in = requantise.out = tile(0), requantise.height = 4, requantise.width = 8,
  requantise.channels = 16;
  Pool pool;
  pool.in = tile(0), pool.out = tile(1024), pool.in_h = 4, pool.in_w = 8, pool.out_h = 2,
  pool.out_w = 4, pool.channels = 16;
  pool.kernel_h = pool.kernel_w = pool.stride_h = pool.stride_w = 2;
  Reduce reduce;
  reduce.in = tile(0), reduce.height = 4, reduce.width = 8, reduce.channels = 16,
  reduce.out = reduce.accumulators = 2048;
  Softmax softmax;
  softmax.in = softmax.out = tile(0), softmax.table = 4096, softmax.height = 4, softmax.width = 8,
  softmax.channels = 16;
  Norm norm;
  norm.in = norm.out = tile(0), norm.parameters = 4096, norm.height = 4, norm.width = 8,
  norm.channels = 16;
  Resize resize;
  resize.in = tile(0), resize.out = {1024, 256, 16}, resize.in_h = 4, resize.in_w = 8,
  resize.channels = 16;
  resize.out_h = 8, resize.out_w = 16, resize.factor_h = resize.factor_w = 2,
  resize.rows = resize.columns = 8192;
  const std::pair<Queue, Operation> starts[] = {
      {Queue::mac, depthwise}, {Queue::mac, sums},          {Queue::mac, plain},
      {Queue::dma_in, dma},    {Queue::dma_out, dma},       {Queue::vector, copy},
      {Queue::vector, fill},   {Queue::vector, eltwise},    {Queue::vector, table},
      {Queue::vector, pool},   {Queue::vector, requantise}, {Queue::vector, reduce},
      {Queue::vector, resize}, {Queue::vector, softmax},    {Queue::vector, norm}};

  Machine machine = tests::small_machine();
  machine.mac_alignment = 1;
  const std::vector<std::byte> constants(1024);
  NpuMemory memory(machine, 4096, constants, false);
  Workspace work;
  std::mt19937 rng(tests::seed());
  for (const std::span<std::byte> bytes : {memory.sram(0), memory.dram()})
    for (std::byte& b : bytes) b = static_cast<std::byte>(rng());
  int refused = 0, run = 0;
  for (const auto& [queue, start] : starts) {
    Instruction valid;
    valid.queue = queue, valid.operation = start;
    const Status status = check(machine, {4096, 1024}, valid);
    ASSERT_TRUE(status.ok()) << name(start) << ": " << status.text();
    for (int n = 0; n < 3000; n++) {
      Instruction i = valid;
      for (std::uint32_t changes = 1 + rng() % 3; changes > 0; changes--)
        if (const std::span<const Field> fields = i.operation.def().fields; !fields.empty())
          visit_field(fields[rng() % fields.size()], i.operation.operands(),
                      [&]<class T>(T& member) { member = wild<T>(rng); });
      (void)regions_of(i);
      (void)alone_ns(machine, i);  // before any check: prices of nonsense must not crash either
      if (!check(machine, {4096, 1024}, i).ok()) {
        refused++;
        continue;
      }
      if (macs(i.operation) > 5'000'000) continue;
      (void)execute(i, memory, work).ok();
      run++;
    }
  }
  EXPECT_GT(refused, 10000);
  EXPECT_GT(run, 5000);
}

/// 4 * 10^9 runs inside 2 MB: refused before anyone walks them.
TEST(HostileInstructions, RunsThatOverlapManyTimes) {
  Machine machine = tests::small_machine();
  machine.sram_bytes = 4 << 20;
  Instruction i;
  i.queue = Queue::vector;
  Copy copy;
  copy.count[0] = copy.count[1] = 65535, copy.from_stride[0] = 17, copy.from_stride[1] = 16;
  copy.to = 3 << 20, copy.run_bytes = 15, copy.to_stride[0] = 1, copy.to_stride[1] = 15;
  i.operation = copy;
  EXPECT_FALSE(check(machine, {0, 0}, i).ok());
}

}  // namespace
}  // namespace longshore::hostile_instruction_test
