#include "measure/layer_use.hpp"

#include <gtest/gtest.h>

#include "npu_program.hpp"

namespace longshore::tests::layer_use_test {
namespace {

TEST(LayerUse, CountsWhatThePipelineMovesByHand) {
  Pipeline pipe(4);
  pipe.program.machine.mac_pj = 1;
  pipe.program.machine.dram_byte_pj = 2;
  const Timing timing = *predict(pipe.program);
  const std::vector<LayerUse> uses = layer_uses(pipe.program, timing);
  ASSERT_EQ(uses.size(), 2u);
  const LayerUse &conv = uses[0], &table = uses[1];
  EXPECT_EQ(conv.weight_bytes, 768u);     // weights, parameters, table: 256 each
  EXPECT_EQ(conv.input_bytes, 4 * 512u);  // four tiles
  EXPECT_EQ(conv.output_bytes, 0u);       // its result stays in SRAM
  EXPECT_EQ(table.output_bytes, 4 * 512u);
  EXPECT_EQ(table.weight_bytes + table.input_bytes, 0u);
  EXPECT_EQ(conv.sram_bytes, 768u + 4 * 512u);   // the constants, two tiles in, two between
  EXPECT_EQ(table.sram_bytes, 256u + 4 * 512u);  // the table, two tiles between, two out
  const double macs = 4 * 4 * 8 * 16 * 16;       // tiles, pixels, channels
  EXPECT_DOUBLE_EQ(conv.energy_uj, (macs * 1 + (768 + 2048) * 2) * 1e-6);
  EXPECT_DOUBLE_EQ(table.energy_uj, 2048 * 2 * 1e-6);
}

TEST(LayerUse, AddsUpToTheWhole) {
  Pipeline pipe(3);
  pipe.program.machine.mac_pj = 0.5;
  pipe.program.machine.sram_byte_pj = 0.25;
  const Timing timing = *predict(pipe.program);
  std::uint64_t bytes = 0;
  double energy = 0;
  for (const LayerUse& use : layer_uses(pipe.program, timing)) {
    bytes += use.moved_bytes();
    energy += use.energy_uj;
  }
  EXPECT_EQ(bytes, timing.dram_read_bytes + timing.dram_write_bytes);
  EXPECT_NEAR(energy, timing.energy_uj, 1e-12);
}

/// Two cores: engines 0 to 3 are dma_in, dma_out, mac and vector of the first, then of the second.
struct Busy {
  Program program;
  Timing timing;
  Busy() {
    program.machine.present = true;
    program.machine.cores = 2;
    program.layers = {"layer"};
  }
  Busy& add(EngineId engine, Activity activity, double ns) {
    timing.intervals.push_back({engine, 0, 0, activity, 0, ns});
    return *this;
  }
  LayerUse use() const { return layer_uses(program, timing).front(); }
};

TEST(LayerUse, IsBoundByTheEngineThatIsBusyLongest) {
  Busy b;
  EXPECT_EQ(b.use().bound, BoundBy::nothing);
  EXPECT_EQ(b.add(0, Activity::dma, 30).use().bound, BoundBy::dma_in);
  EXPECT_EQ(b.add(2, Activity::compute, 40).use().bound, BoundBy::mac);
  // The same engine of the other core is another engine: the sum of both is no time.
  EXPECT_EQ(b.add(4, Activity::dma, 30).use().bound, BoundBy::mac);
  EXPECT_EQ(b.use().busy_of(Queue::dma_in), 30);
  EXPECT_EQ(b.add(5, Activity::dma, 50).use().bound, BoundBy::dma_out);
  EXPECT_EQ(b.add(3, Activity::compute, 60).use().bound, BoundBy::vector);
  EXPECT_EQ(b.add(8, Activity::host, 70).use().bound, BoundBy::host);
}

TEST(LayerUse, IsBoundByDispatchWhereThatIsMostOfTheLongest) {
  Busy b;
  b.add(2, Activity::compute, 40).add(2, Activity::dispatch, 39).add(0, Activity::dma, 70);
  EXPECT_EQ(b.use().bound, BoundBy::mac);  // 79 against 70
  EXPECT_EQ(b.use().busy_of(Queue::mac), 40) << "dispatch is apart";
  b.add(2, Activity::dispatch, 2);
  EXPECT_EQ(b.use().bound, BoundBy::dispatch);
  EXPECT_EQ(b.use().dispatch_ns, 41);
  // The caches' care is no work of the layer.
  EXPECT_EQ(b.add(8, Activity::cache, 500).use().bound, BoundBy::dispatch);
}

TEST(Roofline, IsThePeaksOfTheMachine) {
  Pipeline pipe(4);
  Machine& m = pipe.program.machine;
  m.mac_rows = 8, m.mac_columns = 4, m.clock_mhz = 500;
  m.dram_gb_per_s = 10, m.dram_read_efficiency = 0.8, m.dram_write_efficiency = 0.5;
  const Roofline roof = roofline(pipe.program, *predict(pipe.program));
  EXPECT_DOUBLE_EQ(roof.compute_ns, 32768 / (8 * 4 * 0.5));  // MACs per ns: 32 at 0.5 GHz
  EXPECT_DOUBLE_EQ(roof.dram_ns, (2048 + 768) / 8.0 + 2048 / 5.0);
  EXPECT_DOUBLE_EQ(roof.constants_ns, 768 / 8.0);
  EXPECT_DOUBLE_EQ(roof.roof_ns(), roof.compute_ns);
  EXPECT_GT(roof.reached(), 0);
  EXPECT_LT(roof.reached(), 1);
}

TEST(Roofline, AMemoryOfConstantsWorksBesideTheDram) {
  Pipeline pipe(4);
  pipe.program.machine.constants_gb_per_s = 0.5;
  const Roofline roof = roofline(pipe.program, *predict(pipe.program));
  EXPECT_DOUBLE_EQ(roof.dram_ns, 768 / 0.5);  // longer than 4096 bytes at 8 GB/s
}

TEST(Roofline, CountsAllMultipliers) {
  Machine m = small_machine();
  m.mac_rows = 8, m.mac_columns = 8, m.micro_width = 2, m.cores = 2, m.clock_mhz = 500;
  m.dataflow = Dataflow::block;  // knows no micro-blocks
  EXPECT_DOUBLE_EQ(peak_macs_per_ns(m), 64);
  m.dataflow = Dataflow::micro_block;
  EXPECT_DOUBLE_EQ(peak_macs_per_ns(m), 128);
  m.present = false;
  EXPECT_EQ(peak_macs_per_ns(m), 0);
}

}  // namespace
}  // namespace longshore::tests::layer_use_test
