// Instructions against loops written straight from the comments of instruction.hpp.
#include <gtest/gtest.h>

#include <cstring>

#include "instruction_bench.hpp"
#include "program/instructions/copy.hpp"
#include "program/instructions/eltwise.hpp"
#include "program/instructions/fill.hpp"
#include "program/instructions/pool.hpp"
#include "program/instructions/reduce.hpp"
#include "program/instructions/requantise.hpp"
#include "program/instructions/resize.hpp"
#include "program/instructions/table.hpp"
#include "random.hpp"
#include "sim/execute.hpp"

namespace longshore::execute_test {
namespace {

using tests::Before;
using tests::Bench;

Conv random_conv(Bench& b) {
  Conv c;
  c.depthwise = b.pick(0, 3) == 0;
  c.accumulate = b.pick(0, 2) == 0;
  c.finish = b.pick(0, 3) != 0;
  c.kernel_h = b.pick(1, 4), c.kernel_w = b.pick(1, 4);
  c.stride_h = b.pick(1, 3), c.stride_w = b.pick(1, 3);
  c.dilation_h = b.pick(1, 2), c.dilation_w = b.pick(1, 2);
  c.pad_top = b.pick(0, 2), c.pad_left = b.pick(0, 2), c.pad_bottom = b.pick(0, 2),
  c.pad_right = b.pick(0, 2);
  c.in_c = b.pick(1, 40);
  c.out_c = c.depthwise ? c.in_c : b.pick(1, 40);
  const std::uint32_t reach_h = (c.kernel_h - 1) * c.dilation_h + 1,
                      reach_w = (c.kernel_w - 1) * c.dilation_w + 1;
  c.in_h = reach_h + b.pick(0, 6), c.in_w = reach_w + b.pick(0, 6);
  if (b.pick(0, 4) == 0) {  // one pixel: a path of its own
    c.pad_top = c.pad_left = c.pad_bottom = c.pad_right = 0;
    c.in_h = reach_h, c.in_w = reach_w;
  }
  c.out_h = (c.pad_top + c.in_h + c.pad_bottom - reach_h) / c.stride_h + 1;
  c.out_w = (c.pad_left + c.in_w + c.pad_right - reach_w) / c.stride_w + 1;
  c.in = b.tile(c.in_h, c.in_w, c.in_c);
  c.in_zero = static_cast<int>(b.pick(0, 255)) - 128;
  c.weight_tap_stride = c.in_c + b.pick(0, 2);
  c.weight_out_stride =
      c.depthwise ? 0 : c.kernel_h * c.kernel_w * c.weight_tap_stride + b.pick(0, 3);
  c.weights = b.place(c.depthwise ? c.kernel_h * c.kernel_w * c.weight_tap_stride
                                  : c.out_c * c.weight_out_stride);
  c.parameters = b.place(c.out_c * 16);
  for (std::uint32_t o = 0; o < c.out_c; o++) {
    const Multiplier m = make_multiplier(0.01f * static_cast<float>(b.pick(1, 200)), 0.004f,
                                         0.05f * static_cast<float>(b.pick(1, 40)));
    const ChannelParameters p{static_cast<std::int32_t>(b.pick(0, 40000)) - 20000, m.real, m.fixed,
                              m.exponent};
    std::memcpy(b.sram() + c.parameters + o * 16, static_cast<const void*>(&p), 16);
  }
  c.accumulators = b.tile(c.out_h, c.out_w, c.out_c, 4);
  c.accumulators.dtype = DType::i32;
  if (c.accumulate)  // sums of earlier tiles: far from the limits of int32
    for (std::uint32_t i = 0; i < c.out_h * c.accumulators.row_stride / 4; i++) {
      const std::int32_t v = static_cast<std::int32_t>(b.pick(0, 200000)) - 100000;
      std::memcpy(b.sram() + c.accumulators.address + 4 * i, &v, 4);
    }
  c.out = b.tile(c.out_h, c.out_w, c.out_c);
  c.out_zero = static_cast<int>(b.pick(0, 255)) - 128;
  c.lowest = b.pick(0, 1) ? -128 : c.out_zero;
  c.rounding = static_cast<Rounding>(b.pick(0, 2));
  return c;
}

TEST(Execute, ConvolutionEqualsTheFormula) {
  int depthwise = 0, outputs = 0, saturated = 0;
  for (unsigned n = 0; n < 400; n++) {
    Bench b(tests::seed() + n);
    b.work.portable = n % 4 == 3;
    const Conv c = random_conv(b);
    ASSERT_LE(b.used, b.machine.sram_bytes);
    const Before before(b);
    b.run(Queue::mac, c);
    if (HasFatalFailure()) return;
    const Before after(b);
    depthwise += c.depthwise;
    for (std::int64_t y = 0; y < c.out_h; y++)
      for (std::int64_t x = 0; x < c.out_w; x++)
        for (std::int64_t o = 0; o < c.out_c; o++) {
          std::int64_t sum = c.accumulate ? before.word(c.accumulators, y, x, o) : 0;
          for (std::int64_t i = 0; i < c.kernel_h; i++)
            for (std::int64_t j = 0; j < c.kernel_w; j++) {
              const std::int64_t in_y = y * c.stride_h + i * c.dilation_h - c.pad_top;
              const std::int64_t in_x = x * c.stride_w + j * c.dilation_w - c.pad_left;
              if (in_y < 0 || in_y >= c.in_h || in_x < 0 || in_x >= c.in_w) continue;
              for (std::int64_t k = c.depthwise ? o : 0; k < (c.depthwise ? o + 1 : c.in_c); k++) {
                const std::int64_t w = c.weights + (c.depthwise ? 0 : o * c.weight_out_stride) +
                                       (i * c.kernel_w + j) * c.weight_tap_stride + k;
                sum += (before.at(c.in, in_y, in_x, k) - c.in_zero) *
                       before.bytes[static_cast<std::size_t>(w)];
              }
            }
          if (!c.finish) {
            ASSERT_EQ(after.word(c.accumulators, y, x, o), sum) << "seed " << tests::seed() + n;
            continue;
          }
          ChannelParameters p;
          std::memcpy(static_cast<void*>(&p), before.bytes.data() + c.parameters + o * 16, 16);
          const std::int32_t want =
              requantise(static_cast<std::int32_t>(sum + p.bias), {p.real, p.fixed, p.exponent},
                         c.out_zero, c.lowest, c.highest, c.rounding);
          ASSERT_EQ(after.at(c.out, y, x, o), want)
              << "seed " << tests::seed() + n << " at " << y << "," << x << "," << o;
          outputs++;
          saturated += want == c.lowest || want == c.highest;
        }
  }
  EXPECT_GT(depthwise, 50);
  EXPECT_LT(saturated, outputs * 3 / 4);  // otherwise the test would see little
}

/// Nothing outside the described outputs changes.
TEST(Execute, ConvolutionWritesItsTileOnly) {
  for (unsigned n = 0; n < 50; n++) {
    Bench b(tests::seed() + 1000 + n);
    const Conv c = random_conv(b);
    Before expected(b);
    b.run(Queue::mac, c);
    const Before after(b);
    const Tile& t = c.finish ? c.out : c.accumulators;
    const std::uint32_t run = c.finish ? c.out_c : c.out_c * 4;
    for (std::uint32_t y = 0; y < c.out_h; y++)
      for (std::uint32_t x = 0; x < c.out_w; x++)
        std::memcpy(expected.bytes.data() + t.address + y * t.row_stride + x * t.pixel_stride,
                    after.bytes.data() + t.address + y * t.row_stride + x * t.pixel_stride, run);
    ASSERT_EQ(expected.bytes, after.bytes) << "seed " << tests::seed() + 1000 + n;
  }
}

/// Every function with every pair of dtypes, against the formula.
TEST(Execute, EltwiseWithBroadcast) {
  for (unsigned n = 0; n < 240; n++) {
    Bench b(tests::seed() + n);
    b.machine.dtypes = b.machine.dtypes | types(DType::i16);
    Eltwise e;
    e.function = static_cast<Eltwise::Function>(n % 3);
    e.height = b.pick(1, 6), e.width = b.pick(1, 6), e.channels = b.pick(1, 20);
    const auto tile = [&](bool wide) {
      Tile t = b.tile(e.height, e.width, e.channels, wide ? 2 : 1);
      if (wide) t.dtype = DType::i16;
      return t;
    };
    e.a = tile(n & 4), e.b = tile(n & 8), e.out = n % 7 == 0 ? e.a : tile(n & 16);
    if (b.pick(0, 2) == 0) e.b.row_stride = e.b.pixel_stride = 0;  // one pixel for all
    if (b.pick(0, 2) == 0) e.b_channel_stride = 0;
    const auto scale = [](const Tile& t, float s) { return t.dtype == DType::i16 ? s / 200 : s; };
    e.a_scale = scale(e.a, 0.013f), e.b_scale = scale(e.b, 0.027f);
    e.out_scale = scale(e.out, n % 3 == 2 ? 0.031f : 0.019f);
    e.a_zero = 3, e.b_zero = -17, e.out_zero = -5;
    const std::int32_t lowest = e.out.dtype == DType::i16 ? -32768 : -128;
    e.lowest = n % 2 ? lowest : -5, e.highest = -lowest - 1;
    const Before before(b);
    b.run(Queue::vector, e);
    if (HasFatalFailure()) return;
    const Before after(b);
    for (std::int64_t y = 0; y < e.height; y++)
      for (std::int64_t x = 0; x < e.width; x++)
        for (std::int64_t c = 0; c < e.channels; c++) {
          const float va = static_cast<float>(before.at(e.a, y, x, c) - 3) * e.a_scale;
          const float vb =
              static_cast<float>(before.at(e.b, y, x, e.b_channel_stride ? c : 0) + 17) * e.b_scale;
          const float v = n % 3 == 0 ? va + vb : n % 3 == 1 ? va - vb : va * vb;
          ASSERT_EQ(after.at(e.out, y, x, c), quantise(v, e.out_scale, -5, e.lowest, e.highest))
              << "seed " << tests::seed() + n;
        }
  }
}

TEST(Execute, EltwiseOfWideCodesTakesTwiceTheLanes) {
  const Machine m = Bench::plain();
  Eltwise e;
  e.width = 8, e.channels = 64;
  const double narrow = compute_cycles(m, e) - m.vector_setup_cycles;
  e.a.dtype = DType::i16;
  EXPECT_EQ(compute_cycles(m, e) - m.vector_setup_cycles, 2 * narrow);
}

TEST(Execute, PoolsWithPadding) {
  for (unsigned n = 0; n < 120; n++) {
    Bench b(tests::seed() + n);
    Pool p;
    p.function = static_cast<Pool::Function>(n % 2);
    p.count_include_pad = b.pick(0, 1);
    p.kernel_h = b.pick(1, 4), p.kernel_w = b.pick(1, 4), p.stride_h = b.pick(1, 3),
    p.stride_w = b.pick(1, 3);
    p.dilation_h = b.pick(1, 2), p.dilation_w = 1;
    p.pad_top = b.pick(0, p.kernel_h - 1), p.pad_left = b.pick(0, p.kernel_w - 1);
    p.pad_bottom = b.pick(0, p.kernel_h - 1), p.pad_right = b.pick(0, p.kernel_w - 1);
    const std::uint32_t reach_h = (p.kernel_h - 1) * p.dilation_h + 1;
    p.in_h = reach_h + b.pick(0, 5), p.in_w = p.kernel_w + b.pick(0, 5), p.channels = b.pick(1, 20);
    p.out_h = (p.pad_top + p.in_h + p.pad_bottom - reach_h) / p.stride_h + 1;
    p.out_w = (p.pad_left + p.in_w + p.pad_right - p.kernel_w) / p.stride_w + 1;
    p.in = b.tile(p.in_h, p.in_w, p.channels);
    p.out = b.tile(p.out_h, p.out_w, p.channels);
    p.in_scale = 0.02f, p.out_scale = 0.017f, p.in_zero = 11, p.out_zero = -3;
    p.rounding = static_cast<Rounding>(n % 3);
    const Before before(b);
    b.run(Queue::vector, p);
    const Before after(b);
    for (std::int64_t y = 0; y < p.out_h; y++)
      for (std::int64_t x = 0; x < p.out_w; x++)
        for (std::int64_t c = 0; c < p.channels; c++) {
          int best = -128, sum = 0, inside = 0, padded = 0;
          for (std::int64_t i = 0; i < p.kernel_h; i++)
            for (std::int64_t j = 0; j < p.kernel_w; j++) {
              const std::int64_t in_y = y * p.stride_h + i * p.dilation_h - p.pad_top,
                                 in_x = x * p.stride_w + j - p.pad_left;
              if (in_y < p.in_h + p.pad_bottom && in_x < p.in_w + p.pad_right) padded++;
              if (in_y < 0 || in_y >= p.in_h || in_x < 0 || in_x >= p.in_w) continue;
              inside++;
              best = std::max(best, before.at(p.in, in_y, in_x, c));
              sum += before.at(p.in, in_y, in_x, c) - 11;
            }
          const int count = std::max(1, p.count_include_pad ? padded : inside);
          const int want =
              n % 2 == 0
                  ? best
                  : requantise(sum,
                               make_multiplier(0.02f, 1.0f, 0.017f * static_cast<float>(count)), -3,
                               -128, 127, p.rounding);
          ASSERT_EQ(after.at(p.out, y, x, c), want) << "seed " << tests::seed() + n;
        }
  }
}

TEST(Execute, ReduceOverTwoTiles) {
  Bench b(tests::seed());
  Reduce first, second;
  first.height = 3, first.width = 7, first.channels = 19, first.in_zero = -9, first.finish = false;
  first.in = b.tile(3, 7, 19);
  first.accumulators = b.place(19 * 4);
  second = first;
  second.height = 2;
  second.in = b.tile(2, 7, 19);
  second.accumulate = second.finish = true;
  second.out = b.place(19);
  second.divisor = 35, second.in_scale = 0.05f, second.out_scale = 0.03f, second.out_zero = 4;
  const Before before(b);
  b.run(Queue::vector, first);
  b.run(Queue::vector, second);
  for (std::int64_t c = 0; c < 19; c++) {
    int sum = 0;
    for (std::int64_t y = 0; y < 5; y++)
      for (std::int64_t x = 0; x < 7; x++)
        sum += 9 + (y < 3 ? before.at(first.in, y, x, c) : before.at(second.in, y - 3, x, c));
    EXPECT_EQ(b.sram()[second.out + c], requantise(sum, make_multiplier(0.05f, 1.0f, 0.03f * 35.0f),
                                                   4, -128, 127, Rounding::f32_even));
  }
}

TEST(Execute, TableRequantiseResize) {
  Bench b(tests::seed());
  Table t;
  t.height = 3, t.width = 4, t.channels = 9;
  t.in = b.tile(3, 4, 9), t.out = b.tile(3, 4, 9), t.table = b.place(256);
  Requantise r;
  r.height = 3, r.width = 4, r.channels = 9, r.in = b.tile(3, 4, 9), r.out = r.in;  // in place
  r.in_scale = 0.3f, r.out_scale = 0.2f, r.in_zero = 7, r.out_zero = -2, r.highest = 100;
  Resize up, any;
  up.in_h = 3, up.in_w = 4, up.channels = 9, up.out_h = 5, up.out_w = 8, up.in = t.in,
  up.out = b.tile(5, 8, 9);
  up.factor_h = up.factor_w = 2, up.phase_h = 1;
  any = up;
  any.out = b.tile(5, 8, 9), any.factor_h = any.factor_w = 0;
  any.rows = b.place(10), any.columns = b.place(16);
  const std::uint16_t rows[5] = {2, 0, 1, 1, 2}, columns[8] = {3, 3, 0, 1, 2, 0, 1, 2};
  std::memcpy(b.sram() + any.rows, rows, 10);
  std::memcpy(b.sram() + any.columns, columns, 16);
  const Before before(b);
  for (const Operation& o : {Operation(t), Operation(r), Operation(up), Operation(any)})
    b.run(Queue::vector, o);
  const Before after(b);
  for (std::int64_t c = 0; c < 9; c++) {
    for (std::int64_t y = 0; y < 3; y++)
      for (std::int64_t x = 0; x < 4; x++) {
        EXPECT_EQ(after.at(t.out, y, x, c),
                  before.bytes[static_cast<std::size_t>(t.table + before.at(t.in, y, x, c) + 128)]);
        EXPECT_EQ(
            after.at(r.out, y, x, c),
            quantise(static_cast<float>(before.at(r.in, y, x, c) - 7) * 0.3f, 0.2f, -2, -128, 100));
      }
    for (std::int64_t y = 0; y < 5; y++)
      for (std::int64_t x = 0; x < 8; x++) {
        EXPECT_EQ(after.at(up.out, y, x, c), before.at(up.in, (y + 1) / 2, x / 2, c));
        EXPECT_EQ(after.at(any.out, y, x, c), before.at(any.in, rows[y], columns[x], c));
      }
  }
}

TEST(Execute, ResizeTableOutOfRangeIsAnError) {
  Bench b(tests::seed());
  Resize r;
  r.in_h = 2, r.in_w = 1, r.out_h = 1, r.out_w = 1;
  r.in = b.tile(2, 1, 1), r.out = b.tile(1, 1, 1);
  r.factor_h = 0, r.rows = b.place(2);
  b.sram()[r.rows] = 2, b.sram()[r.rows + 1] = 0;
  EXPECT_FALSE(execute({Queue::vector, 0, no_index, r}, b.memory, b.work).ok());
}

TEST(Execute, DmaTransposesAndCopyAndFill) {
  Bench b(tests::seed());
  Dma d;  // CHW 5 x 4 x 3 in the arena to HWC with pixel stride 8
  d.dram_address = 100, d.sram_address = 64, d.run_bytes = 1;
  d.count[0] = 5, d.count[1] = 4, d.count[2] = 3;
  d.dram_stride[0] = 12, d.dram_stride[1] = 3, d.dram_stride[2] = 1;
  d.sram_stride[0] = 1, d.sram_stride[1] = 24, d.sram_stride[2] = 8;
  b.run(Queue::dma_in, d);
  const auto* dram = reinterpret_cast<const std::int8_t*>(b.memory.dram().data());
  for (std::uint32_t c = 0; c < 5; c++)
    for (std::uint32_t y = 0; y < 4; y++)
      for (std::uint32_t x = 0; x < 3; x++)
        EXPECT_EQ(b.sram()[64 + y * 24 + x * 8 + c], dram[100 + c * 12 + y * 3 + x]);
  Copy copy;  // channels 1..3 of each pixel, packed
  copy.from = 65, copy.to = 1000, copy.run_bytes = 3;
  copy.count[1] = 4, copy.count[2] = 3, copy.from_stride[1] = 24, copy.from_stride[2] = 8;
  copy.to_stride[1] = 9, copy.to_stride[2] = 3;
  b.run(Queue::vector, copy);
  for (std::uint32_t p = 0; p < 12; p++)
    for (std::uint32_t c = 0; c < 3; c++)
      EXPECT_EQ(b.sram()[1000 + p * 3 + c], b.sram()[64 + p * 8 + 1 + c]);
  Fill fill;
  fill.address = 1001, fill.run_bytes = 1, fill.count[2] = 3, fill.stride[2] = 3, fill.value = -7;
  const std::int8_t kept = b.sram()[1002];
  b.run(Queue::vector, fill);
  EXPECT_EQ(b.sram()[1001], -7);
  EXPECT_EQ(b.sram()[1004], -7);
  EXPECT_EQ(b.sram()[1007], -7);
  EXPECT_EQ(b.sram()[1002], kept);
  Dma back;
  back.dram_address = 5000, back.sram_address = 1000, back.run_bytes = 36;
  b.run(Queue::dma_out, back);
  EXPECT_EQ(std::memcmp(dram + 5000, b.sram() + 1000, 36), 0);
}

}  // namespace
}  // namespace longshore::execute_test
