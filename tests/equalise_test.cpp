// Channels that share a scale brought to a like size: the float function stays, the codes are used.
#include <gtest/gtest.h>

#include <cmath>

#include "quantize/quantize.hpp"
#include "random.hpp"

namespace longshore::tests::equalise_test {
namespace {

std::vector<std::vector<Tensor>> samples(const Graph& g, int count) {
  std::vector<std::vector<Tensor>> out;
  for (int i = 0; i < count; i++)
    out.push_back(random_inputs(g, seed() + 31 * static_cast<unsigned>(i)));
  return out;
}

double sqnr(const Graph& want, const Graph& got) {
  double signal = 0, noise = 0;
  for (const std::vector<Tensor>& in : samples(want, 8)) {
    const std::vector<Tensor> a = evaluate(want, in), b = evaluate(got, in);
    for (std::size_t i = 0; i < a[0].values<float>().size(); i++) {
      const double x = static_cast<double>(a[0].values<float>()[i]),
                   y = static_cast<double>(b[0].values<float>()[i]);
      signal += x * x;
      noise += (x - y) * (x - y);
    }
  }
  return 10 * std::log10(signal / std::max(noise, 1e-30));
}

/// Weights and biases at random, fixed by the seed.
Graph weighted(const std::string& text) {
  Graph g = parse(text);
  std::mt19937 rng(seed());
  for (Value& v : g.values) {
    if (!v.constant.present() || v.type.dtype != DType::f32) continue;
    std::vector<float> values(static_cast<std::size_t>(v.constant.elements()));
    const float fan = static_cast<float>(
        v.constant.shape.rank > 1 ? v.constant.shape.product(1, v.constant.shape.rank) : 1);
    for (float& x : values)
      x = std::normal_distribution<float>(0, 1)(rng) / std::sqrt(std::max(fan, 1.0f));
    v.constant = make_floats(v.constant.shape, values);
  }
  return g;
}

/// Multiplies slices along one axis of a constant by 2^exponent, which no float rounds.
void scale(Graph& g, const std::string& name, int axis, const std::vector<int>& exponents) {
  for (Value& v : g.values) {
    if (v.name != name) continue;
    std::vector<float> values(v.constant.values<float>().begin(), v.constant.values<float>().end());
    const std::int64_t inner = v.constant.shape.product(axis + 1, v.constant.shape.rank);
    for (std::size_t i = 0; i < values.size(); i++)
      values[i] = std::ldexp(
          values[i], exponents[static_cast<std::size_t>(static_cast<std::int64_t>(i) / inner %
                                                        v.constant.shape[axis])]);
    v.constant = make_floats(v.constant.shape, values);
    return;
  }
  ADD_FAILURE() << "no constant " << name;
}

const std::vector<int> apart = {-6, 0, 4, -3, 6, -5, 2, 3};
std::vector<int> negative(std::vector<int> exponents) {
  for (int& e : exponents) e = -e;
  return exponents;
}

/// A net whose channels were pulled apart by powers of two computes what the plain one does, and
/// quantised it is as near to that as the plain one.
void expect_repaired(const Graph& plain, const Graph& pulled, std::size_t groups) {
  EXPECT_GT(sqnr(plain, pulled), 100) << "the test itself changed the function";
  std::vector<Equalised> told;
  const Calibration calibration = calibration_from(samples(pulled, 16));
  const Graph equal = equalise(pulled, calibration, told);
  ASSERT_EQ(told.size(), groups) << print(pulled);
  EXPECT_GT(sqnr(pulled, equal), 100) << "the float function is another one";
  for (const Equalised& e : told) EXPECT_LT(e.noise, 0.25);
  const auto quantised = [&](const Graph& g, bool equalise) {
    QuantizeOptions options;
    options.equalise = equalise;
    return sqnr(g, quantize(g, calibration, options));
  };
  EXPECT_GT(quantised(pulled, true), quantised(pulled, false) + 6);
  EXPECT_GT(quantised(pulled, true), quantised(plain, false) - 6);
}

const char* const in_a_row = R"((x: f32[1,3,8,8]) {
  w = f32[8,3,3,3]{1}
  b = f32[8]{1}
  v = f32[6,8,3,3]{1}
  c: f32[1,8,8,8] = Conv(x, w, b, pads=[1,1,1,1])
  r: f32[1,8,8,8] = Relu(c)
  y: f32[1,6,8,8] = Conv(r, v, pads=[1,1,1,1]) return y })";

TEST(Equalise, ConvolutionsInARow) {
  const Graph plain = weighted(in_a_row);
  Graph pulled = plain;
  scale(pulled, "w", 0, apart);
  scale(pulled, "b", 0, apart);
  scale(pulled, "v", 1, negative(apart));
  expect_repaired(plain, pulled, 1);
}

// Channels that are far apart and stay so in the outputs: the largest make these, and giving codes
// to the others takes some from them. What the outputs lose decides, not what is expected.
TEST(Equalise, IsLeftOutWhereTheOutputsAreNoBetter) {
  int expected = 0, left_out = 0;
  std::mt19937 rng(seed());
  for (int i = 0; i < 40; i++) {
    Graph g = weighted(R"((x: f32[1,24]) {
      w = f32[12,24]{1}
      b = f32[12]{1}
      v = f32[3,12]{1}
      u = f32[12,3]{1}
      t = f32[24,12]{1}
      c: f32[1,12] = Gemm(x, w, b, transB=1)
      r: f32[1,12] = Relu(c)
      n: f32[1,3] = Gemm(r, v, transB=1)
      d: f32[1,12] = Gemm(n, u, b, transB=1)
      s: f32[1,12] = Relu(d)
      y: f32[1,24] = Gemm(s, t, transB=1) return y })");
    for (const auto& [name, channels] :
         {std::pair("w", 12), std::pair("v", 3), std::pair("u", 12)}) {
      std::vector<int> exponents(static_cast<std::size_t>(channels));
      for (int& e : exponents) e = static_cast<int>(rng() % 9) - 6;
      scale(g, name, 0, exponents);
    }
    std::vector<std::vector<Tensor>> seen = samples(g, 8);
    std::vector<Equalised> told;
    equalise(g, calibration_from(seen), told);
    QuantizeOptions plain;
    plain.equalise = false;
    QuantizeReport report;
    const double with = sqnr(g, quantize(g, calibration_from(seen), {}, &report)),
                 without = sqnr(g, quantize(g, calibration_from(seen), plain));
    EXPECT_GE(with, without) << i;
    expected += told.empty() ? 0 : 1;
    left_out += !told.empty() && report.equalised.empty() ? 1 : 0;
  }
  EXPECT_GT(left_out, 0);
  EXPECT_LT(left_out, expected);
}

// All that is added shares the numbers, and so do a pool and what reads behind it.
TEST(Equalise, ResidualBlocksAndPools) {
  const Graph plain = weighted(R"((x: f32[1,3,8,8]) {
    w = f32[8,3,3,3]{1}
    u = f32[8,8,3,3]{1}
    t = f32[5,8]{1}
    c: f32[1,8,8,8] = Conv(x, w, pads=[1,1,1,1])
    d: f32[1,8,8,8] = Conv(c, u, pads=[1,1,1,1])
    s: f32[1,8,8,8] = Add(c, d)
    r: f32[1,8,8,8] = Relu(s)
    p: f32[1,8,1,1] = GlobalAveragePool(r)
    f: f32[1,8] = Flatten(p)
    y: f32[1,5] = Gemm(f, t, transB=1) return y })");
  Graph pulled = plain;
  scale(pulled, "w", 0, apart);
  scale(pulled, "u", 0, apart);
  scale(pulled, "u", 1, negative(apart));
  scale(pulled, "t", 1, negative(apart));
  expect_repaired(plain, pulled, 1);
}

// A depthwise convolution both reads and makes.
TEST(Equalise, DepthwiseConvolutions) {
  const Graph plain = weighted(R"((x: f32[1,3,8,8]) {
    w = f32[8,3,1,1]{1}
    u = f32[8,1,3,3]{1}
    v = f32[4,8,1,1]{1}
    c: f32[1,8,8,8] = Conv(x, w)
    r: f32[1,8,8,8] = Relu(c)
    d: f32[1,8,8,8] = Conv(r, u, group=8, pads=[1,1,1,1])
    y: f32[1,4,8,8] = Conv(d, v) return y })");
  Graph pulled = plain;
  scale(pulled, "w", 0, apart);
  scale(pulled, "u", 1, {0});
  scale(pulled, "u", 0, std::vector<int>(8, 0));
  scale(pulled, "v", 1, negative(apart));
  expect_repaired(plain, pulled, 2);
}

// Outlier channels of a LayerNormalization, whose weights are shared with nothing else afterwards.
TEST(Equalise, LayerNormalizationBeforeProducts) {
  const Graph plain = weighted(R"((x: f32[1,5,8]) {
    scale = f32[8]{1}
    bias = f32[8]{1}
    q = f32[8,6]{1}
    k = f32[8,6]{1}
    n: f32[1,5,8] = LayerNormalization(x, scale, bias, axis=-1)
    a: f32[1,5,6] = MatMul(n, q)
    b: f32[1,5,6] = MatMul(n, k)
    y: f32[1,5,6] = Add(a, b) return y })");
  Graph pulled = plain;
  const std::vector<int> outliers = {0, 6, 0, 0, 7, 0, 0, 5};
  scale(pulled, "scale", 0, outliers);
  scale(pulled, "bias", 0, outliers);
  scale(pulled, "q", 0, negative(outliers));
  scale(pulled, "k", 0, negative(outliers));
  expect_repaired(plain, pulled, 1);
}

// A residual sum wants the norm as it is: the products get one of their own, where that gains.
TEST(Equalise, NormsAreComputedTwiceBesideASum) {
  const Graph plain = weighted(R"((x: f32[1,5,8]) {
    scale = f32[8]{1}
    bias = f32[8]{1}
    q = f32[8,8]{1}
    n: f32[1,5,8] = LayerNormalization(x, scale, bias, axis=-1)
    a: f32[1,5,8] = MatMul(n, q)
    y: f32[1,5,8] = Add(a, n) return y })");
  const auto norms = [](const Graph& g) {
    return std::ranges::count_if(g.nodes,
                                 [](const Node& n) { return n.op->name == "LayerNormalization"; });
  };
  const auto equalised = [&](const Graph& g) {
    std::vector<Equalised> told;
    const Graph out = equalise(g, calibration_from(samples(g, 16)), told);
    EXPECT_EQ(norms(out), 1 + static_cast<std::ptrdiff_t>(told.size()));
    EXPECT_GT(sqnr(g, out), 100);
    return norms(out);
  };
  Graph pulled = plain, even = plain;
  const std::vector<int> outliers = {0, 6, 0, 0, 7, 0, 0, 5};
  scale(pulled, "scale", 0, outliers);
  scale(pulled, "bias", 0, outliers);
  scale(pulled, "q", 0, negative(outliers));
  EXPECT_EQ(equalised(pulled), 2);
  for (Value& v : even.values)  // nothing to gain
    if (v.name == "scale")
      v.constant = make_floats(v.constant.shape, std::vector<float>(8, 1.0f));
    else if (v.name == "bias")
      v.constant = make_floats(v.constant.shape, std::vector<float>(8, 0.0f));
  EXPECT_EQ(equalised(even), 1);
}

/// Whether the graph with channels of `w` pulled apart is left as it is.
void expect_left_alone(const std::string& text) {
  Graph g = weighted(text);
  scale(g, "w", 0, apart);
  std::vector<Equalised> told;
  const Graph out = equalise(g, calibration_from(samples(g, 16)), told);
  EXPECT_TRUE(told.empty()) << text;
  EXPECT_TRUE(out == g) << text;
}

TEST(Equalise, LeavesWhatOthersSee) {
  const std::string row = in_a_row;
  const auto with = [&](std::string_view what, const std::string& by) {
    std::string text = row;
    text.replace(text.find(what), what.size(), by);
    return text;
  };
  expect_left_alone(with("return y", "return y, r"));  // the caller
  expect_left_alone(with("return y", "s: f32[1,8,8,8] = Sigmoid(r) return y, s"));
  expect_left_alone(with("Relu(c)", "Clip(c, f32[]{0}, f32[]{6})"));  // not the same for 2 x
  expect_left_alone(with("Relu(c)", "HardSwish(c)"));
  expect_left_alone(R"((x: f32[1,8,8,8], z: f32[1,8,8,8]) {
    w = f32[8,8,3,3]{1}
    v = f32[6,8,3,3]{1}
    c: f32[1,8,8,8] = Conv(x, w, pads=[1,1,1,1])
    s: f32[1,8,8,8] = Add(c, z)
    y: f32[1,6,8,8] = Conv(s, v, pads=[1,1,1,1]) return y })");  // an input is added
}

// A bias that is one number for all channels cannot be divided channel by channel, and a residual
// that a fused convolution adds is none of its weights.
TEST(Equalise, LeavesWhatIsNotByChannel) {
  expect_left_alone(R"((x: f32[4,8]) {
    w = f32[8,8]{1}
    b = f32[1]{1}
    v = f32[6,8]{1}
    c: f32[4,8] = Gemm(x, w, b, transB=1)
    y: f32[4,6] = Gemm(c, v, transB=1) return y })");
  expect_left_alone(R"((x: f32[1,8,6,6]) {
    w = f32[8,8,1,1]{1}
    u = f32[8,8,1,1]{1}
    bias = f32[8]{1}
    v = f32[6,8,1,1]{1}
    c: f32[1,8,6,6] = Conv(x, w)
    d: f32[1,8,6,6] = com.microsoft.FusedConv(x, u, bias, c)
    y: f32[1,6,6,6] = Conv(d, v) return y })");
}

// A net that is balanced is quantised as without: small expected gains are seldom real ones.
TEST(Equalise, LeavesBalancedNets) {
  const Graph g = weighted(in_a_row);
  std::vector<Equalised> told;
  EXPECT_TRUE(equalise(g, calibration_from(samples(g, 16)), told) == g);
  EXPECT_TRUE(told.empty());
}

// One constant in two places is two afterwards: the other reader wants the old numbers.
TEST(Equalise, SharedWeightsAreChangedInOnePlace) {
  const Graph plain = weighted(R"((x: f32[1,8,6,6]) {
    w = f32[8,8,1,1]{1}
    v = f32[6,8,1,1]{1}
    c: f32[1,8,6,6] = Conv(x, w)
    y: f32[1,6,6,6] = Conv(c, v)
    z: f32[1,6,6,6] = Conv(x, v) return y, z })");
  Graph pulled = plain;
  scale(pulled, "w", 0, apart);
  scale(pulled, "v", 1, negative(apart));
  std::vector<Equalised> told;
  const Graph equal = equalise(pulled, calibration_from(samples(pulled, 16)), told);
  EXPECT_EQ(told.size(), 1u);
  for (const std::vector<Tensor>& in : samples(pulled, 4)) {
    const std::vector<Tensor> a = evaluate(pulled, in), b = evaluate(equal, in);
    for (std::size_t o = 0; o < 2; o++)
      for (std::size_t i = 0; i < a[o].values<float>().size(); i++)
        EXPECT_NEAR(a[o].values<float>()[i], b[o].values<float>()[i], 1e-3f);
  }
}

TEST(Equalise, DeadChannelsAndThreads) {
  Graph g = weighted(in_a_row);
  scale(g, "w", 0, {-100, 0, 6, -6, 4, -3, 1, 2});
  scale(g, "b", 0, {-100, 0, 6, -6, 4, -3, 1, 2});
  std::vector<Equalised> told, again;
  Calibration calibration = calibration_from(samples(g, 16));
  const Graph one = equalise(g, calibration, told);
  calibration.threads = 3;
  EXPECT_TRUE(equalise(g, calibration, again) == one) << "the order of samples matters";
  EXPECT_GT(sqnr(g, one), 100);
}

}  // namespace
}  // namespace longshore::tests::equalise_test
