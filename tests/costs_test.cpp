// Cycle counts against real SCALE-Sim runs, and closed forms against calculations by hand.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "checkout.hpp"
#include "program/instructions/pool.hpp"
#include "program/instructions/table.hpp"
#include "sim/costs.hpp"
#include "target/target.hpp"

namespace longshore::costs_test {
namespace {

struct Reference {
  const char* layer;
  std::uint64_t m, n, k;  // output pixels, filters, taps * channels
  std::uint64_t os, ws, is;
};

// Total cycles of SCALE-Sim 3.0.0 runs on a 32 x 32 array, compute only (scalesim_golden.csv, the
// rows marked "scalesim 3.0.0 run").
constexpr Reference runs[] = {
    {"t_dw1", 144, 1, 9, 354, 237, 474},
    {"t_small", 36, 32, 144, 411, 649, 1259},
    {"t_odd", 49, 65, 297, 2153, 4289, 3179},
    {"fc", 1, 1000, 2048, 67519, 194559, 70015},
    {"c2_a1x1", 3136, 64, 64, 24695, 12919, 30967},
    {"c2_1x1o", 3136, 256, 64, 98783, 51679, 68599},
};

TEST(Costs, EqualScaleSimRuns) {
  for (const Reference& r : runs) {
    EXPECT_EQ(systolic_cycles(Dataflow::output_stationary, 32, 32, r.m, r.n, r.k), r.os) << r.layer;
    EXPECT_EQ(systolic_cycles(Dataflow::weight_stationary, 32, 32, r.m, r.n, r.k), r.ws) << r.layer;
    EXPECT_EQ(systolic_cycles(Dataflow::input_stationary, 32, 32, r.m, r.n, r.k), r.is) << r.layer;
  }
}

/// A row of SCALE-Sim's table: a layer as one instruction, on an array of that size and dataflow.
struct ScaleSimRow {
  std::string line;
  std::uint32_t rows = 0, columns = 0;
  Dataflow flow = Dataflow::weight_stationary;
  Conv conv;
  std::uint64_t folds = 0, cycles = 0;
};

/// The whole table, where it lies beside the checkout.
std::vector<ScaleSimRow> scale_sim_table() {
  std::vector<ScaleSimRow> found;
  std::ifstream in(tests::in_checkout("shared/data/scalesim_golden.csv"));
  std::string line, cell;
  std::getline(in, line);
  std::vector<std::string> header;
  for (std::istringstream row(line); std::getline(row, cell, ',');) header.push_back(cell);
  while (std::getline(in, line)) {
    std::map<std::string, std::string> at;
    std::istringstream row(line);
    for (const std::string& key : header) {
      std::getline(row, cell, ',');
      at[key] = cell;
    }
    const auto number = [&](const char* key) {
      return static_cast<std::uint32_t>(std::stoull(at[key]));
    };
    // SCALE-Sim counts a last, partial window: ceil((in - filter + stride) / stride).
    const auto outputs = [&](const char* in_key, const char* filter_key) {
      const std::uint32_t stride = number("stride");
      return (number(in_key) - number(filter_key) + 2 * stride - 1) / stride;
    };
    ScaleSimRow out{line, number("array_rows"), number("array_cols")};
    out.flow = at["dataflow"] == "os"   ? Dataflow::output_stationary
               : at["dataflow"] == "ws" ? Dataflow::weight_stationary
                                        : Dataflow::input_stationary;
    out.conv.kernel_h = number("filter_h"), out.conv.kernel_w = number("filter_w");
    out.conv.in_c = number("channels"), out.conv.out_c = number("num_filters");
    out.conv.out_h = outputs("ifmap_h", "filter_h"),
    out.conv.out_w = outputs("ifmap_w", "filter_w");
    out.folds = number("folds"), out.cycles = number("total_cycles");
    found.push_back(out);
  }
  return found;
}

TEST(Costs, EqualScaleSimTable) {
  const std::vector<ScaleSimRow> table = scale_sim_table();
  if (table.empty()) GTEST_SKIP() << "shared/data/scalesim_golden.csv is not beside this checkout";
  for (const ScaleSimRow& r : table) {
    const Conv& c = r.conv;
    const std::uint64_t m = std::uint64_t{c.out_h} * c.out_w,
                        k = std::uint64_t{c.kernel_h} * c.kernel_w * c.in_c;
    EXPECT_EQ(systolic_cycles(r.flow, r.rows, r.columns, m, c.out_c, k), r.cycles) << r.line;
    EXPECT_EQ(systolic_folds(r.flow, r.rows, r.columns, m, c.out_c, k), r.folds) << r.line;
  }
  EXPECT_GE(table.size(), 84u);
}

/// The same through the numbers of the target file, as a plan's instruction takes them.
TEST(Costs, SystolicTargetEqualsScaleSim) {
  const std::vector<ScaleSimRow> table = scale_sim_table();
  if (table.empty()) GTEST_SKIP() << "shared/data/scalesim_golden.csv is not beside this checkout";
  std::size_t rows = 0;
  for (const ScaleSimRow& r : table) {
    const std::vector<std::string> changes = {std::string("dataflow=") + name(r.flow)};
    const Machine m = load_target("systolic-32", changes).machine;
    if (m.mac_rows != r.rows || m.mac_columns != r.columns) continue;
    EXPECT_DOUBLE_EQ(conv_cycles(m, r.conv), static_cast<double>(r.cycles)) << r.line;
    rows++;
  }
  EXPECT_GE(rows, 84u);
}

/// Round numbers, so that every expectation below is a calculation by hand.
Machine simple() {
  Machine m;
  m.present = true;
  m.clock_mhz = 1000;
  m.mac_rows = m.mac_columns = 32;
  m.mac_setup_cycles = 10;
  m.depthwise_lanes = 32;
  m.depthwise_taps = 3;
  m.drain_elements_per_cycle = 16;
  m.vector_lanes = 16;
  m.vector_setup_cycles = 4;
  m.dma_burst_bytes = 64;
  m.dma_outstanding = 16;
  m.dma_setup_cycles = 20;
  m.dma_bytes_per_cycle = 8;
  m.dram_gb_per_s = 10;
  m.dram_read_efficiency = 0.5;
  m.dram_write_efficiency = 0.4;
  m.dram_latency_ns = 100;
  m.sram_word_bytes = 16;
  return m;
}

TEST(Costs, BlockConvolution) {
  Machine m = simple();
  Conv c;
  c.in_c = 40, c.out_c = 64, c.out_h = 5, c.out_w = 6, c.kernel_h = c.kernel_w = 3;
  // 2 blocks of input channels * 2 of output channels * 9 taps * 30 pixels = 1080, set-up 10;
  // the drain takes 64 * 30 / 16 = 120.
  EXPECT_DOUBLE_EQ(conv_cycles(m, c), 1090);
  EXPECT_EQ(macs(c), 40u * 64 * 30 * 9);
  m.stripe_min = 16, m.stripe_max = 16;  // 30 pixels: stripes of 16 and 14, the second costs 16
  EXPECT_DOUBLE_EQ(conv_cycles(m, c), 2 * 2 * 9 * 32 + 10);
  c.in_c = 3;
  m.packs_narrow_input = true;  // 3 channels * 3 columns share one pass: 3 instead of 9 taps
  EXPECT_DOUBLE_EQ(conv_cycles(m, c), 2 * 3 * 32 + 10);
  c.kernel_h = c.kernel_w = 1;  // 2 * 32 = 64 array cycles, below the drain's 120
  EXPECT_DOUBLE_EQ(conv_cycles(m, c), 120 + 10);
}

TEST(Costs, BlockGrainsAndWinograd) {
  Machine m = simple();
  m.mac_rows = 64, m.mac_columns = 32, m.drain_elements_per_cycle = 1e6;
  m.input_grain = 16, m.output_grain = 8;
  Conv c;
  c.in_c = 17, c.out_c = 20, c.out_h = 5, c.out_w = 6, c.kernel_h = 3, c.kernel_w = 2;
  // 32 times 24 channels, 6 taps, 30 pixels, over 2048 multipliers: 67.5 cycles.
  EXPECT_DOUBLE_EQ(conv_cycles(m, c), 67.5 + 10);
  c.in_c = 5, m.packs_narrow_input = true;  // 5 channels * 2 columns in one grain of 16, 3 rows
  EXPECT_DOUBLE_EQ(conv_cycles(m, c), 16 * 3 * 24 * 30 / 2048.0 + 10);
  c.in_c = 16, c.kernel_w = 3;  // a whole grain: nothing to pack
  EXPECT_DOUBLE_EQ(conv_cycles(m, c), 16 * 9 * 24 * 30 / 2048.0 + 10);
  m.winograd = true;  // 16 products for four pixels instead of 36
  EXPECT_DOUBLE_EQ(conv_cycles(m, c), 16 * 4 * 24 * 30 / 2048.0 + 10);
  c.stride_w = 2;  // not by Winograd, nor with gaps
  EXPECT_DOUBLE_EQ(conv_cycles(m, c), 16 * 9 * 24 * 30 / 2048.0 + 10);
  c.stride_w = 1, c.dilation_h = 2;
  EXPECT_DOUBLE_EQ(conv_cycles(m, c), 16 * 9 * 24 * 30 / 2048.0 + 10);
}

TEST(Costs, MicroBlocks) {
  Machine m = simple();
  m.dataflow = Dataflow::micro_block;
  m.mac_rows = m.mac_columns = m.depthwise_lanes = 8;
  m.micro_width = m.micro_height = 2, m.step_cycles = 4;  // an Ethos-U55 of 256 MACs
  m.depthwise_taps = 1;
  m.drain_elements_per_cycle = 1e6;
  m.stripe_min = 32, m.stripe_max = 2048;
  Conv c;
  c.in_c = 32, c.out_c = 64, c.out_h = c.out_w = 16, c.kernel_h = c.kernel_w = 3;
  // 8 x 8 micro-blocks of 4 cycles, 9 steps of one tap of 32 channels, 8 times 8 output channels:
  // all of the 256 MACs, in 16 * 16 * 64 * 32 * 9 / 256 cycles.
  EXPECT_DOUBLE_EQ(conv_cycles(m, c), 4 * 64 * 9 * 8 + 10);
  c.in_c = 3;  // 3 steps of four taps, rather than 9 of one
  EXPECT_DOUBLE_EQ(conv_cycles(m, c), 4 * 64 * 3 * 8 + 10);
  c.in_c = 40;  // 9 * 2 steps by depth, 3 * 5 by taps
  EXPECT_DOUBLE_EQ(conv_cycles(m, c), 4 * 64 * 15 * 8 + 10);
  c.out_h = 15, c.out_w = 13;  // 7 x 8 micro-blocks
  EXPECT_DOUBLE_EQ(conv_cycles(m, c), 4 * 56 * 15 * 8 + 10);
  c.kernel_h = c.kernel_w = 1, c.in_c = 64, c.out_h = c.out_w = 2;
  // One micro-block, but the weights of a step take 32 cycles.
  EXPECT_DOUBLE_EQ(conv_cycles(m, c), 32 * 2 * 8 + 10);
  m.stripe_min = 1;
  EXPECT_DOUBLE_EQ(conv_cycles(m, c), 4 * 2 * 8 + 10);
  c.out_h = 1, c.out_w = 8;  // a row alone: two micro-blocks of 4 x 1 pixels
  EXPECT_DOUBLE_EQ(conv_cycles(m, c), 4 * 2 * 2 * 8 + 10);
  c.out_w = 7;  // four of 2 x 2
  EXPECT_DOUBLE_EQ(conv_cycles(m, c), 4 * 4 * 2 * 8 + 10);
  c.depthwise = true;
  c.in_c = c.out_c = 40, c.kernel_h = c.kernel_w = 3, c.out_h = c.out_w = 16;
  EXPECT_DOUBLE_EQ(conv_cycles(m, c), 4 * 64 * 3 * 5 + 10);  // 9 taps in steps of four
}

TEST(Costs, ConstantsInAMemoryOfTheirOwn) {
  Machine m = simple();
  Dma d;
  d.run_bytes = 1024, d.dram = Dram::constants;
  EXPECT_DOUBLE_EQ(dma_ns(m, d, false), 120 + 1024 / 5.0);  // there is none: the DRAM, at 10 * 0.5
  m.constants_gb_per_s = 0.5, m.constants_latency_ns = 40;
  EXPECT_DOUBLE_EQ(dma_ns(m, d, false), 60 + 1024 / 0.5);
  d.dram = Dram::arena;
  EXPECT_DOUBLE_EQ(dma_ns(m, d, false), 120 + 1024 / 5.0);
}

TEST(Costs, DepthwiseAndVector) {
  const Machine m = simple();
  Conv c;
  c.depthwise = true;
  c.in_c = c.out_c = 40, c.out_h = 4, c.out_w = 4, c.kernel_h = c.kernel_w = 3;
  EXPECT_DOUBLE_EQ(conv_cycles(m, c), 2 * 3 * 16 + 10);  // 2 groups of lanes, 9 taps in threes
  Machine slow = m;
  slow.cycles_of(vector_unit::table) = 2.5;
  EXPECT_DOUBLE_EQ(vector_cycles(slow, vector_unit::table, 33), 4 + 3 * 2.5);
  Pool p;
  p.out_h = p.out_w = 2, p.channels = 16, p.kernel_h = p.kernel_w = 3;
  EXPECT_DOUBLE_EQ(compute_cycles(m, p), 4 + 4 * 9);
}

TEST(Costs, OverlappedFolds) {
  Machine m = simple();
  m.dataflow = Dataflow::weight_stationary;
  m.overlaps_folds = true;
  Conv c;
  c.in_c = 64, c.out_c = 64, c.out_h = 10, c.out_w = 10;
  // 4 folds of 100 pixels; one visible load of 32, one fill and drain of 62.
  EXPECT_DOUBLE_EQ(conv_cycles(m, c), 10 + 32 + 400 + 62);
}

TEST(Costs, DmaBurstsAndRates) {
  const Machine m = simple();
  Dma d;
  d.run_bytes = 1000, d.dram_address = 32;  // touches bytes 0..1087 in bursts of 64
  DmaCost cost = dma_cost(m, d, false);
  EXPECT_EQ(cost.bytes, 1000u);
  EXPECT_EQ(cost.dram_bytes, 1088u);
  EXPECT_DOUBLE_EQ(cost.setup_ns, 120);
  EXPECT_DOUBLE_EQ(cost.bytes_per_ns, 8);  // 16 bursts of 64 in 100 ns would be 10.24
  EXPECT_DOUBLE_EQ(dma_ns(m, d, false), 120 + 1088 / 5.0);  // the DRAM reads at 10 * 0.5
  EXPECT_DOUBLE_EQ(dma_ns(m, d, true), 120 + 1088 / 4.0);
  Machine narrow = m;
  narrow.dma_outstanding = 2;  // 128 bytes in flight per 100 ns
  EXPECT_DOUBLE_EQ(dma_cost(narrow, d, false).bytes_per_ns, 1.28);

  d = {};  // 4 rows of 100 bytes at a pitch of 128: two bursts each
  d.run_bytes = 100, d.count[2] = 4, d.dram_stride[2] = 128, d.sram_stride[2] = 100;
  EXPECT_EQ(dma_cost(m, d, false).dram_bytes, 4u * 128);
  d.dram_stride[2] = 100;  // dense: one run of 400 bytes
  EXPECT_EQ(dma_cost(m, d, false).dram_bytes, 448u);
  d.dram_stride[2] = 101;  // any alignment: 100 + 63 bytes on average
  EXPECT_EQ(dma_cost(m, d, false).dram_bytes, 4u * 163);
}

TEST(Costs, TransposingDmaTakesAWordPerByte) {
  const Machine m = simple();
  Dma d;  // CHW of 16 x 8 x 8 to HWC
  d.run_bytes = 1;
  d.count[0] = 16, d.count[1] = 8, d.count[2] = 8;
  d.dram_stride[0] = 64, d.dram_stride[1] = 8, d.dram_stride[2] = 1;
  d.sram_stride[0] = 1, d.sram_stride[1] = 128, d.sram_stride[2] = 16;
  const DmaCost cost = dma_cost(m, d, false);
  EXPECT_EQ(cost.dram_bytes, 1024u);
  EXPECT_DOUBLE_EQ(cost.bytes_per_ns, 1);
}

}  // namespace
}  // namespace longshore::costs_test
