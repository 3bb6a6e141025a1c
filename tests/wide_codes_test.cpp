// 16-bit codes on the NPU: instructions against loops written from their comments, tables against
// hand calculations, whole random nets against the reference, and what a target must have for them.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "instruction_bench.hpp"
#include "npu_case.hpp"
#include "program/instructions/pool.hpp"
#include "program/instructions/reduce.hpp"
#include "program/instructions/requantise.hpp"
#include "program/instructions/table.hpp"
#include "random_net.hpp"
#include "tensor/table_codes.hpp"

namespace longshore::tests::wide_codes_test {
namespace {

Bench bench(unsigned n) {
  Bench b(seed() + n);
  b.machine.dtypes = b.machine.dtypes | types(DType::i16, DType::i64);
  b.machine.mac_i16_rate = 0.5, b.machine.mac_i16_weights_rate = 0.25;
  return b;
}

Tile wide_tile(Bench& b, std::uint32_t height, std::uint32_t width, std::uint32_t channels) {
  Tile t = b.tile(height, width, channels, 2);
  t.dtype = DType::i16;
  return t;
}

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
  c.out_c = c.depthwise ? c.in_c : b.pick(1, 30);
  const std::uint32_t reach_h = (c.kernel_h - 1) * c.dilation_h + 1,
                      reach_w = (c.kernel_w - 1) * c.dilation_w + 1;
  c.in_h = reach_h + b.pick(0, 4), c.in_w = reach_w + b.pick(0, 4);
  c.out_h = (c.pad_top + c.in_h + c.pad_bottom - reach_h) / c.stride_h + 1;
  c.out_w = (c.pad_left + c.in_w + c.pad_right - reach_w) / c.stride_w + 1;
  c.in = wide_tile(b, c.in_h, c.in_w, c.in_c);
  const std::uint32_t size = b.pick(1, 2);
  c.weight_dtype = size == 1 ? DType::i8 : DType::i16;
  c.weight_tap_stride = (c.in_c + b.pick(0, 2)) * size;
  c.weight_out_stride =
      c.depthwise ? 0 : c.kernel_h * c.kernel_w * c.weight_tap_stride + b.pick(0, 3) * size;
  c.weights = b.place(c.depthwise ? c.kernel_h * c.kernel_w * c.weight_tap_stride
                                  : c.out_c * c.weight_out_stride);
  c.parameters = b.place(c.out_c * 16);
  for (std::uint32_t o = 0; o < c.out_c; o++) {
    const Multiplier m = make_multiplier(1e-4f * static_cast<float>(b.pick(1, 200)),
                                         size == 1 ? 0.004f : 0.00002f, 0.01f);
    const ChannelParameters p{static_cast<std::int32_t>(b.pick(0, 40000)) - 20000, m.real, m.fixed,
                              m.exponent};
    std::memcpy(b.sram() + c.parameters + o * 16, static_cast<const void*>(&p), 16);
  }
  c.accumulators = b.tile(c.out_h, c.out_w, c.out_c, 8);
  c.accumulators.dtype = DType::i64;
  if (c.accumulate)  // beyond int32 on both sides
    for (std::uint32_t i = 0; i < c.out_h * c.accumulators.row_stride / 8; i++) {
      const std::int64_t v = (std::int64_t{b.pick(0, 200000)} - 100000) << 16;
      std::memcpy(b.sram() + c.accumulators.address + 8 * i, &v, 8);
    }
  c.out = b.pick(0, 3) > 0 ? wide_tile(b, c.out_h, c.out_w, c.out_c)
                           : b.tile(c.out_h, c.out_w, c.out_c);
  const CodeRange codes = code_range(c.out.dtype);
  c.out_zero = static_cast<int>(b.pick(0, 255)) - 128;
  c.lowest = b.pick(0, 1) ? codes.lowest : c.out_zero;
  c.highest = codes.highest;
  c.rounding = static_cast<Rounding>(b.pick(0, 2));
  return c;
}

TEST(WideCodes, ConvolutionEqualsTheFormula) {
  int outputs = 0, saturated = 0, wide_sums = 0;
  for (unsigned n = 0; n < 200; n++) {
    Bench b = bench(n);
    const Conv c = random_conv(b);
    ASSERT_LE(b.used, b.machine.sram_bytes);
    const Before before(b);
    b.run(Queue::mac, c);
    if (HasFatalFailure()) return;
    const Before after(b);
    const std::int64_t size = c.weight_dtype == DType::i8 ? 1 : 2;
    for (std::int64_t y = 0; y < c.out_h; y++)
      for (std::int64_t x = 0; x < c.out_w; x++)
        for (std::int64_t o = 0; o < c.out_c; o++) {
          std::int64_t sum = c.accumulate ? before.word<std::int64_t>(c.accumulators, y, x, o) : 0;
          for (std::int64_t i = 0; i < c.kernel_h; i++)
            for (std::int64_t j = 0; j < c.kernel_w; j++) {
              const std::int64_t in_y = y * c.stride_h + i * c.dilation_h - c.pad_top;
              const std::int64_t in_x = x * c.stride_w + j * c.dilation_w - c.pad_left;
              if (in_y < 0 || in_y >= c.in_h || in_x < 0 || in_x >= c.in_w) continue;
              for (std::int64_t k = c.depthwise ? o : 0; k < (c.depthwise ? o + 1 : c.in_c); k++) {
                const Tile filter{c.weights, c.weight_out_stride, c.weight_tap_stride,
                                  c.weight_dtype};
                const int w = before.at(filter, c.depthwise ? 0 : o, i * c.kernel_w + j, k);
                sum += std::int64_t{before.at(c.in, in_y, in_x, k)} * w;
              }
            }
          wide_sums += sum > INT32_MAX || sum < INT32_MIN;
          if (!c.finish) {
            ASSERT_EQ(after.word<std::int64_t>(c.accumulators, y, x, o), sum)
                << "seed " << seed() + n;
            continue;
          }
          ChannelParameters p;
          std::memcpy(static_cast<void*>(&p), before.bytes.data() + c.parameters + o * 16, 16);
          // docs/numbers.md: as f32_even in every mode
          const float real = std::clamp(static_cast<float>(sum + p.bias) * p.real,
                                        static_cast<float>(c.lowest - c.out_zero),
                                        static_cast<float>(c.highest - c.out_zero));
          const int want = static_cast<int>(std::nearbyint(real)) + c.out_zero;
          ASSERT_EQ(after.at(c.out, y, x, o), want)
              << "seed " << seed() + n << " at " << y << "," << x << "," << o << " " << size;
          outputs++;
          saturated += want == c.lowest || want == c.highest;
        }
  }
  EXPECT_LT(saturated, outputs * 3 / 4);
  EXPECT_GT(wide_sums, 1000) << "sums that 32 bits would not hold";
}

TEST(WideCodes, TakeTheirPartOfTheArraysRate) {
  Machine m = bench(0).machine;
  m.dataflow = Dataflow::block, m.mac_setup_cycles = 7, m.drain_elements_per_cycle = 1e6;
  Conv c;
  c.in_c = 64, c.out_c = 64, c.out_h = c.in_h = 8, c.out_w = c.in_w = 8;
  const double bytes = compute_cycles(m, c) - 7;
  c.in.dtype = DType::i16;
  EXPECT_EQ(compute_cycles(m, c) - 7, 2 * bytes);
  c.weight_dtype = DType::i16;
  EXPECT_EQ(compute_cycles(m, c) - 7, 4 * bytes);
}

TEST(WideCodes, CostTheEnergyOfTheirPasses) {
  Machine m = bench(0).machine;
  m.mac_pj = 2;
  Conv c;
  c.in_c = 64, c.out_c = 64;
  const Instruction bytes{Queue::mac, 0, no_index, c};
  c.in.dtype = DType::i16;
  const Instruction wide{Queue::mac, 0, no_index, c};
  EXPECT_DOUBLE_EQ(energy_nj(m, bytes), 64 * 64 * 2 * 1e-3);
  EXPECT_DOUBLE_EQ(energy_nj(m, wide), 64 * 64 * 2 / 0.5 * 1e-3);
}

TEST(WideCodes, InstructionsRefuseWhatTheMachineDoesNotMultiply) {
  const auto refusal = [](const Machine& m, const Conv& c) {
    return std::string(check(m, {0, 0}, {Queue::mac, 0, no_index, c}).text());
  };
  Bench b = bench(1);
  Conv c = random_conv(b);
  c.finish = true, c.accumulate = false, c.weight_dtype = DType::i8;
  EXPECT_EQ(refusal(b.machine, c), "");
  Machine none = b.machine;
  none.mac_i16_rate = 0;
  EXPECT_THAT(refusal(none, c), testing::HasSubstr("multiplies no i16 by i8"));
  c.in_zero = 1;
  EXPECT_THAT(refusal(b.machine, c), testing::HasSubstr("in_zero is 1"));
  c.in_zero = 0, c.accumulate = true, c.accumulators.dtype = DType::i32;
  EXPECT_THAT(refusal(b.machine, c), testing::HasSubstr("sums of i16 are not i32"));
}

// Between entries 128 codes apart, by hand: 1000 + (1200 - 1000) * part / 128, half up.
TEST(WideCodes, LinesBetweenEntries) {
  std::int16_t entries[wide_table_entries] = {};
  entries[256] = 1000, entries[257] = 1200, entries[0] = -7, entries[1] = -10;
  entries[511] = -32768, entries[512] = 32767;
  EXPECT_EQ(interpolated(entries, 0), 1000);
  EXPECT_EQ(interpolated(entries, 1), 1002);  // 1001.5625
  EXPECT_EQ(interpolated(entries, 64), 1100);
  EXPECT_EQ(interpolated(entries, 127), 1198);  // 1198.4375
  EXPECT_EQ(interpolated(entries, -32768), -7);
  EXPECT_EQ(interpolated(entries, -32704), -8);    // -8.5 goes up
  EXPECT_EQ(interpolated(entries, 32767), 32255);  // -32768 + 65535 * 127 / 128 = 32255.0078
  EXPECT_EQ(wide_table_code(0), -32768);
  EXPECT_EQ(wide_table_code(256), 0);
  EXPECT_EQ(wide_table_code(512), 32768);
}

/// y = op(x) of all 65,536 codes.
std::vector<std::int16_t> of_all_codes(const std::string& op, float in, float out) {
  const Graph g = parse(fmt::format(
      "(x: i16[65536] q({:.9g}, 0)) {{ y: i16[65536] q({:.9g}, 0) = {} return y }}", in, out, op));
  std::vector<std::int16_t> codes(65536);
  for (int q = -32768; q < 32768; q++)
    codes[static_cast<std::size_t>(q + 32768)] = static_cast<std::int16_t>(q);
  const Tensor y =
      evaluate(g, std::vector{make_tensor<std::int16_t>(DType::i16, Shape{65536}, codes)})[0];
  return {y.values<std::int16_t>().begin(), y.values<std::int16_t>().end()};
}

// The chord of a function leaves it by at most h^2 / 8 of its greatest second derivative, which
// for tanh is 0.77 (at 0.66) and for the logistic function 0.0963 (at 1.32).
TEST(WideCodes, TablesComeNearTheFunction) {
  const float in = 8.0f / 32768, out = 1.0f / 32768;
  const double h = 128.0 * in;
  for (const bool tanh : {true, false}) {
    const std::vector<std::int16_t> y = of_all_codes(tanh ? "Tanh(x)" : "Sigmoid(x)", in, out);
    const double within = h * h / 8 * (tanh ? 0.77 : 0.0963) / out + 1;
    for (int q = -32768; q < 32768; q++) {
      const double x = q * double{in}, f = tanh ? std::tanh(x) : 1 / (1 + std::exp(-x));
      ASSERT_NEAR(y[static_cast<std::size_t>(q + 32768)], std::min(f / out, 32767.0), within) << q;
    }
  }
}

// A kink at 0 lies on an entry; what jumps is not interpolated.
TEST(WideCodes, KinksAtZeroAndJumpsAreExact) {
  const std::vector<std::int16_t> relu = of_all_codes("Relu(x)", 0.25f, 0.25f);
  const std::vector<std::int16_t> floor = of_all_codes("Floor(x)", 0.25f, 1.0f);
  for (int q = -32768; q < 32768; q++) {
    // The last entry would be 32768 and is 32767: up to a code less on the way there.
    ASSERT_NEAR(relu[static_cast<std::size_t>(q + 32768)], std::max(q, 0), q > 32640 ? 1 : 0);
    ASSERT_EQ(floor[static_cast<std::size_t>(q + 32768)], (q + 32768) / 4 - 8192);
  }
}

TEST(WideCodes, TableRequantisePoolReduce) {
  for (unsigned n = 0; n < 60; n++) {
    Bench b = bench(n);
    Table t;
    t.height = b.pick(1, 4), t.width = b.pick(1, 4), t.channels = b.pick(1, 20);
    t.in = wide_tile(b, t.height, t.width, t.channels);
    t.out = n % 2 ? t.in : wide_tile(b, t.height, t.width, t.channels);
    t.table = b.place(wide_table_entries * 2);
    Requantise r;
    r.height = t.height, r.width = t.width, r.channels = t.channels;
    r.in =
        n & 4 ? wide_tile(b, r.height, r.width, r.channels) : b.tile(r.height, r.width, r.channels);
    r.out =
        n & 8 ? wide_tile(b, r.height, r.width, r.channels) : b.tile(r.height, r.width, r.channels);
    r.in_scale = n & 4 ? 0.001f : 0.3f, r.out_scale = n & 8 ? 0.0007f : 0.2f, r.in_zero = 7;
    const CodeRange codes = code_range(r.out.dtype);
    r.lowest = codes.lowest, r.highest = codes.highest, r.out_zero = -2;
    Reduce sum, mean;
    sum.height = 3, sum.width = 2, sum.channels = t.channels, sum.in_zero = -9, sum.finish = false;
    sum.in = wide_tile(b, 3, 2, t.channels);
    sum.accumulators = b.place(t.channels * 8, 8);
    mean = sum;
    mean.in = wide_tile(b, 3, 2, t.channels);
    mean.accumulate = mean.finish = true, mean.divisor = 12;
    mean.in_scale = 0.05f, mean.out_scale = 0.04f, mean.lowest = -32768, mean.highest = 32767;
    mean.out = b.place(t.channels * 2), mean.rounding = static_cast<Rounding>(n % 3);
    Pool pool;
    pool.function = static_cast<Pool::Function>(n % 2), pool.channels = t.channels;
    pool.in_h = pool.in_w = 3, pool.kernel_h = pool.kernel_w = 3;
    pool.in = wide_tile(b, 3, 3, t.channels), pool.out = wide_tile(b, 1, 1, t.channels);
    pool.in_scale = 0.05f, pool.out_scale = 0.04f, pool.lowest = -32768, pool.highest = 32767;
    pool.in_zero = 3, pool.rounding = static_cast<Rounding>(n % 3);
    const Before before(b);
    for (const Operation& o :
         {Operation(t), Operation(r), Operation(sum), Operation(mean), Operation(pool)})
      b.run(Queue::vector, o);
    if (HasFatalFailure()) return;
    const Before after(b);
    const auto mean_of = [](double total, float scale) {  // as f32_even in every mode
      return static_cast<int>(
          std::clamp(std::nearbyint(static_cast<float>(total) * scale), -32768.0f, 32767.0f));
    };
    for (std::int64_t c = 0; c < t.channels; c++) {
      for (std::int64_t y = 0; y < t.height; y++)
        for (std::int64_t x = 0; x < t.width; x++) {
          const int q = before.at(t.in, y, x, c) + 32768;
          const Tile entries{t.table, 0, 0, DType::i16};
          const int low = before.at(entries, 0, 0, q / 128),
                    high = before.at(entries, 0, 0, q / 128 + 1);
          ASSERT_EQ(after.at(t.out, y, x, c),
                    std::floor(low + (high - low) * (q % 128) / 128.0 + 0.5));
          ASSERT_EQ(after.at(r.out, y, x, c),
                    quantise(static_cast<float>(before.at(r.in, y, x, c) - 7) * r.in_scale,
                             r.out_scale, -2, r.lowest, r.highest));
        }
      std::int64_t total = 0, window = 0;
      int most = -32768;
      for (std::int64_t y = 0; y < 3; y++)
        for (std::int64_t x = 0; x < 3; x++) {
          if (x < 2) total += before.at(sum.in, y, x, c) + before.at(mean.in, y, x, c) + 18;
          window += before.at(pool.in, y, x, c) - 3;
          most = std::max(most, before.at(pool.in, y, x, c));
        }
      ASSERT_EQ(after.at({mean.out, 0, 0, DType::i16}, 0, 0, c),
                mean_of(static_cast<double>(total), 0.05f * 1.0f / (0.04f * 12.0f)));
      ASSERT_EQ(
          after.at(pool.out, 0, 0, c),
          n % 2 == 0 ? most : mean_of(static_cast<double>(window), 0.05f * 1.0f / (0.04f * 9.0f)));
    }
  }
}

// docs/numbers.md: entries 2^k codes apart until they reach 16, lines between them; and float's
// shares but for what the chords of exp leave, h^2 / 8 of it with h = 2^k * scale.
TEST(WideCodes, SoftmaxFollowsTheFormulaAndIsNearFloat) {
  std::mt19937 rng(seed());
  for (const auto& pair : {std::pair(0.0005f, 6), {0.01f, 2}, {0.00001f, 7}, {0.2f, 0}}) {
    const float scale = pair.first;
    const int k = pair.second;
    const std::int64_t count = 50;
    const Graph g =
        parse(fmt::format("(x: i16[2,{0}] q({1:.9g}, 0)) {{ y: i16[2,{0}] q("
                          "0.000030517578125, 0) = Softmax(x) return y }}",
                          count, scale));
    std::vector<std::int16_t> x;
    for (std::int64_t i = 0; i < 2 * count; i++)
      x.push_back(static_cast<std::int16_t>(i < count ? rng() : rng() % 3000));
    const Tensor y =
        evaluate(g, std::vector{make_tensor<std::int16_t>(DType::i16, Shape{2, count}, x)})[0];
    const double s = static_cast<double>(scale), h = s * (1 << k);
    const auto entry = [&](std::int64_t i) { return std::llrint(8388608.0 * std::exp(-i * h)); };
    for (std::int64_t r = 0; r < 2; r++) {
      const std::int16_t* row = x.data() + r * count;
      const int most = *std::max_element(row, row + count);
      const auto e = [&](std::int64_t c) -> std::int64_t {
        const std::int64_t d = most - row[c], i = d >> k, p = d - (i << k);
        if (i > 512 || (i == 512 && p > 0)) return 0;
        if (i == 512) return entry(512);
        return entry(i) - static_cast<std::int64_t>(std::floor(
                              static_cast<double>((entry(i) - entry(i + 1)) * p) / (1 << k) + 0.5));
      };
      std::int64_t sum = 0;
      double real_sum = 0;
      for (std::int64_t c = 0; c < count; c++)
        sum += e(c), real_sum += std::exp((row[c] - most) * s);
      for (std::int64_t c = 0; c < count; c++) {
        const int got = y.values<std::int16_t>()[static_cast<std::size_t>(r * count + c)];
        const auto share = static_cast<float>(static_cast<double>(e(c)) / static_cast<double>(sum));
        ASSERT_EQ(got, quantise(share, 1.0f / 32768, 0, -32768, 32767)) << scale << " " << r;
        const double exact = 32768 * std::exp((row[c] - most) * s) / real_sum;
        ASSERT_NEAR(got, std::min(exact, 32767.0), 1 + exact * h * h / 4) << scale << " " << r;
      }
    }
  }
}

// docs/numbers.md, in double from the codes: float's roundings are below a code.
TEST(WideCodes, NormalisationIsThatOfTheNumbers) {
  std::mt19937 rng(seed());
  for (const bool mean : {true, false}) {
    const std::int64_t count = 300;
    const Graph g = parse(fmt::format(
        "(x: i16[1,{0}] q(0.0003, 0)) {{ y: i16[1,{0}] q(0.0002, 0) = {1}(x, f32[{0}]{{1.5}}{2}) "
        "return y }}",
        count, mean ? "LayerNormalization" : "RMSNormalization",
        mean ? fmt::format(", f32[{}]{{0.25}}", count) : ""));
    std::vector<std::int16_t> x;
    for (std::int64_t i = 0; i < count; i++) x.push_back(static_cast<std::int16_t>(rng()));
    const Tensor y =
        evaluate(g, std::vector{make_tensor<std::int16_t>(DType::i16, Shape{1, count}, x)})[0];
    double average = 0, spread = 0;
    for (std::int16_t q : x) average += mean ? 0.0003 * q / count : 0;
    for (std::int16_t q : x) spread += (0.0003 * q - average) * (0.0003 * q - average) / count;
    for (std::int64_t i = 0; i < count; i++) {
      const auto at = static_cast<std::size_t>(i);
      const double want =
          1.5 * (0.0003 * x[at] - average) / std::sqrt(spread + 1e-5) + (mean ? 0.25 : 0);
      ASSERT_NEAR(y.values<std::int16_t>()[at], std::clamp(want / 0.0002, -32768.0, 32767.0), 0.6);
    }
  }
}

TEST(WideCodes, RandomNetsRunExactly) {
  Target target = load_target("shore-1");
  std::size_t on_npu = 0, nodes = 0, accumulated = 0;
  for (unsigned i = 0; i < (std::getenv("LONGSHORE_FULL") ? 400u : 40u) && !HasFailure(); i++) {
    const unsigned number = seed() * 1000 + i;
    const Graph g = widened(RandomNet(number).make());
    const std::uint32_t sizes[] = {0, 16384, 6144};
    target.machine.depthwise_lanes = i % 2 ? 8 : 0;
    target.machine.cores = 1 + i % 3;
    target.machine.semaphores = 256;
    target.machine.accumulators = i % 4 ? 4096 : 0;
    SCOPED_TRACE("net " + std::to_string(number) + "\n" + print(g));
    const plan::Plan p = expect_exact(g, target, sizes[i % 3], number);
    for (const NodePlacement& n : p.placement.nodes) on_npu += n.on_npu();
    for (const plan::Layer& l : p.layers) accumulated += l.accumulators.bytes > 0;
    nodes += g.nodes.size();
  }
  std::cout << on_npu << " of " << nodes << " nodes on NPUs, " << accumulated
            << " layers with sums between turns\n";
  EXPECT_GT(on_npu, nodes / 2);
  EXPECT_GT(accumulated, 0u);
}

// Beside the examples of the forms: by weights of 8 and 16 bits, and of two computed tensors.
TEST(WideCodes, ProductsOnEveryTarget) {
  const std::string_view nets[] = {
      R"((x: i16[1,20,9,7] q(0.001, 0)) {
      y: i16[1,6,5,4] q(0.005, 0) = com.microsoft.FusedConv(x, i8[6,20,3,3] q(0.02, 0) {3}, pads=[1,1,1,1],
        strides=[2,2], activation="Relu") return y })",
      R"((x: i16[1,6,9,7] q(0.001, 0)) {
      a: i16[1,6,9,7] q(0.005, 0) = Conv(x, i16[6,1,3,3] q(0.0002, 0) {300}, group=6, pads=[1,1,1,1])
      y: i16[1,4,9,7] q(0.005, 0) = Conv(a, i16[4,3,1,1] q(0.0002, 0) {-30000}, group=2) return y })",
      R"((x: i16[2,6,16] q(0.001, 0), z: i16[2,16,5] q(0.002, 0)) {
      y: i16[2,6,5] q(0.05, 0) = MatMul(x, z) return y })",
      R"((x: i16[1,7,300] q(0.001, 0)) {
      y: i8[1,7,40] q(0.5, 3) = MatMul(x, i8[300,40] q(0.02, 0) {77}) return y })"};
  std::size_t ran = 0;
  for (const TargetName& name : target_names()) {
    const Target target = load_target(name.name);
    if (!target.machine.present) continue;
    for (std::string_view text : nets)
      for (const std::uint32_t sram : {0u, 4096u}) {
        SCOPED_TRACE(target.name);
        const plan::Plan p = expect_exact(parse(text), target, sram, seed());
        ran += p.placement.nodes[0].on_npu();
      }
  }
  EXPECT_GT(ran, 16u);
}

TEST(WideCodes, ATargetWithoutThemSaysWhichKey) {
  const Graph g = parse(R"((x: i16[1,4,6,6] q(0.001, 0)) {
    y: i16[1,3,6,6] q(0.002, 0) = Conv(x, i8[3,4,1,1] q(0.02, 0) {5}) return y })");
  const auto why = [&](const Target& t) {
    std::string out;
    for (const Reason& r : place(g, t, {.by_price = false}).nodes[0].reasons())
      out += r.text + " " + r.where + "\n";
    return out;
  };
  Target t = load_target("shore-1");
  EXPECT_EQ(why(t), "");
  t.machine.mac_i16_rate = 0;
  EXPECT_THAT(why(t), testing::HasSubstr("products of i16 by i8"));
  EXPECT_THAT(why(t), testing::HasSubstr("npu.mac.i16_rate"));
  t = load_target("shore-1");
  t.machine.dtypes = types(DType::i8, DType::i32);
  EXPECT_THAT(why(t), testing::HasSubstr("npu.dtypes"));
}

}  // namespace
}  // namespace longshore::tests::wide_codes_test
