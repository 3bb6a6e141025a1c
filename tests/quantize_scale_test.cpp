// Scales, zero points, bias and ranges, against numbers worked out by hand or by brute force.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.hpp"
#include "quantize/calibration.hpp"
#include "quantize/scale.hpp"
#include "random.hpp"
#include "tensor/requantise.hpp"

namespace longshore::tests::quantize_scale_test {
namespace {

TEST(AsymmetricScale, SpreadsTheRangeWithZeroOnACode) {
  // 3 / 255; -128 + 1 / (3 / 255) = -43
  EXPECT_EQ(asymmetric_scale({-1, 2}, DType::i8), (ScaleAndZero{3.0f / 255, -43}));
  EXPECT_EQ(asymmetric_scale({-1, 2}, DType::u8), (ScaleAndZero{3.0f / 255, 85}));
  EXPECT_EQ(asymmetric_scale({0, 6}, DType::i8), (ScaleAndZero{6.0f / 255, -128}));
  EXPECT_EQ(asymmetric_scale({-3, 0}, DType::i8), (ScaleAndZero{3.0f / 255, 127}));
}

TEST(AsymmetricScale, AlwaysHoldsZero) {
  EXPECT_EQ(asymmetric_scale({0.5f, 2}, DType::i8), (ScaleAndZero{2.0f / 255, -128}));
  EXPECT_EQ(asymmetric_scale({-2, -0.5f}, DType::i8), (ScaleAndZero{2.0f / 255, 127}));
}

TEST(AsymmetricScale, IsOneWhereTheRangeIsTooNarrowForAFloat) {
  EXPECT_EQ(asymmetric_scale({0, 0}, DType::i8), (ScaleAndZero{1, 0}));
  EXPECT_EQ(asymmetric_scale({0, 1e-38f}, DType::i8), (ScaleAndZero{1, 0}));
}

TEST(KnownRange, OfSoftmaxAndTanhUsesPowersOfTwo) {
  EXPECT_EQ(known_range_scale({0, 1}, DType::i8), (ScaleAndZero{1.0f / 256, -128}));
  EXPECT_EQ(known_range_scale({0, 1}, DType::u8), (ScaleAndZero{1.0f / 256, 0}));
  EXPECT_EQ(known_range_scale({-1, 1}, DType::i8), (ScaleAndZero{1.0f / 128, 0}));
}

TEST(Layer, HasANarrowScalePerChannel) {
  const std::vector<float> w = {1.27f, -0.5f, 0.2f, -2.54f}, b = {0.1f, -1};
  const Tensor bias = make_floats({2}, b);
  const QuantisedLayer l =
      quantise_layer(make_floats({2, 2}, w), 0, &bias, {0.5f, 3}, DType::i8, false);
  ASSERT_EQ(l.scales.size(), 2u);
  EXPECT_FLOAT_EQ(l.scales[0], 0.01f);
  EXPECT_FLOAT_EQ(l.scales[1], 0.02f);
  EXPECT_EQ(std::vector<int>(l.weights.values<std::int8_t>().begin(),
                             l.weights.values<std::int8_t>().end()),
            (std::vector<int>{127, -50, 10, -127}));
  // 0.1 / (0.5 * 0.01) = 20; -1 / (0.5 * 0.02) = -100
  EXPECT_EQ(l.bias.values<std::int32_t>()[0], 20);
  EXPECT_EQ(l.bias.values<std::int32_t>()[1], -100);
  EXPECT_EQ(l.enlarged, 0);
}

TEST(Layer, OutputChannelsMayLieOnTheLastAxis) {
  const std::vector<float> w = {1.27f, 0.2f, -0.5f, -2.54f};
  const QuantisedLayer l =
      quantise_layer(make_floats({2, 2}, w), 1, nullptr, {0.5f, 3}, DType::i8, false);
  EXPECT_EQ(std::vector<int>(l.weights.values<std::int8_t>().begin(),
                             l.weights.values<std::int8_t>().end()),
            (std::vector<int>{127, 10, -50, -127}));
  EXPECT_FALSE(l.bias.present());
}

// A channel with tiny weights and a large bias: 100 / (0.01 * 1e-7 / 127) is about 10^13.
TEST(Layer, GrowsTheWeightScaleWhereTheBiasWouldOverflow) {
  const std::vector<float> w = {1e-7f, 0.5f}, b = {100, 100};
  const Tensor bias = make_floats({2}, b);
  const QuantisedLayer l =
      quantise_layer(make_floats({2, 1}, w), 0, &bias, {0.01f, -128}, DType::i8, false);
  EXPECT_EQ(l.enlarged, 1);
  EXPECT_FLOAT_EQ(l.scales[1], 0.5f / 127) << "the other channel keeps its scale";
  for (std::size_t c = 0; c < 2; c++) {
    const double sum =
        255.0 * 127 + std::abs(static_cast<double>(l.bias.values<std::int32_t>()[c]));
    EXPECT_LT(sum, 2147483647.0);
    EXPECT_NEAR(l.bias.values<std::int32_t>()[c] * static_cast<double>(l.bias_scales[c]), 100,
                1e-3);
  }
}

TEST(Layer, OfZeroWeightsKeepsItsBias) {
  const std::vector<float> w = {0, 0, 0.3f, 0.1f}, b = {1.5f, 0.25f};
  const Tensor bias = make_floats({2}, b);
  const QuantisedLayer l =
      quantise_layer(make_floats({2, 2}, w), 0, &bias, {0.02f, 0}, DType::i8, false);
  EXPECT_NEAR(l.bias.values<std::int32_t>()[0] * l.bias_scales[0], 1.5f, 1e-4f);
}

TEST(Layer, SumsOfLongProductsFitInInt32) {
  const std::vector<float> w(60000, 1.0f);
  const QuantisedLayer l =
      quantise_layer(make_floats({1, 60000}, w), 0, nullptr, {1, -128}, DType::i8, false);
  double sum = 0;
  for (std::int8_t q : l.weights.values<std::int8_t>()) sum += std::abs(q);
  EXPECT_LT(sum * 255, 2147483647.0);
  EXPECT_EQ(l.enlarged, 1);
}

TEST(Layer, LeastErrorIsNeverWorse) {
  std::mt19937 rng(seed());
  std::normal_distribution<float> normal(0, 1);
  std::vector<float> w(500);
  for (float& x : w) x = normal(rng);
  w[7] = 6;
  const Tensor t = make_floats({1, 500}, w);
  const auto error = [&](const QuantisedLayer& l) {
    double sum = 0;
    for (std::size_t i = 0; i < w.size(); i++)
      sum += std::pow(w[i] - l.weights.values<std::int8_t>()[i] * l.scales[0], 2);
    return sum;
  };
  EXPECT_LE(error(quantise_layer(t, 0, nullptr, {1, 0}, DType::i8, true)),
            error(quantise_layer(t, 0, nullptr, {1, 0}, DType::i8, false)));
}

// Two groups of one input channel; by hand: channel 0 has weights 1.27 and 0.633 on codes 127
// and 63.
TEST(Layer, ShortfallIsWhatRoundingTakesFromTheMean) {
  const std::vector<float> w = {1.27f, 0.633f, 2.54f, -2.54f};
  const Tensor weights = make_floats({2, 1, 2}, w);
  QuantisedLayer l = quantise_layer(weights, 0, nullptr, {0.5f, 0}, DType::i8, false);
  const double mean[] = {2, 3}, coded[] = {2, 2.5};
  const std::vector<double> s = mean_shortfall(weights, l, 2, mean, coded);
  EXPECT_NEAR(s[0], (1.27 + 0.633) * 2 - (1.27 + 0.63) * 2, 1e-5);
  EXPECT_NEAR(s[1], 0, 1e-5) << "its weights cancel, so the input's mean does not matter";
  correct_bias(l, nullptr, s);
  // 0.006 / (0.5 * 0.01) = 1.2
  EXPECT_EQ(l.bias.values<std::int32_t>()[0], 1);
  EXPECT_EQ(l.bias.values<std::int32_t>()[1], 0);
}

double error_of(const std::vector<float>& x, Range r) {
  const ScaleAndZero q = asymmetric_scale(r, DType::i8);
  double sum = 0;
  for (float v : x) {
    const double e =
        v - dequantise(quantise(v, q.scale, q.zero_point, -128, 127), q.scale, q.zero_point);
    sum += e * e;
  }
  return sum;
}

// The search over the histogram finds as good a range as trying ranges on the data itself. With
// few numbers the least of many measured errors is well below what its range is worth.
TEST(Mse, IsAsGoodAsBruteForce) {
  std::mt19937 rng(seed());
  for (int round = 0; round < 6; round++) {
    std::vector<float> x(16000);
    std::normal_distribution<float> normal(round % 2 ? 0.5f : 0.0f, 1);
    for (float& v : x) v = round < 2 ? normal(rng) : std::max(0.0f, normal(rng));
    for (std::size_t i = 0; i < x.size(); i += 4000) {
      if (round % 3 == 1) x[i] = 40;
      if (round == 1) x[i + 1] = -25;
    }
    RangeStatistics s;
    s.add_sample(x);
    Histogram h(s.range());
    h.add(x);
    const Range chosen = calibrator_named("mse").choose(h, 256);
    EXPECT_LE(chosen.lowest, 0);
    EXPECT_GE(chosen.highest, 0);
    double best = error_of(x, s.range());
    const int lows = s.range().lowest < 0 ? 50 : 1;
    for (int i = 1; i <= lows; i++)
      for (int j = 1; j <= 50; j++)
        best = std::min(best, error_of(x, {s.range().lowest * 0.02f * static_cast<float>(i),
                                           s.range().highest * 0.02f * static_cast<float>(j)}));
    EXPECT_LE(error_of(x, chosen), best * 1.05) << "round " << round;
  }
}

TEST(Mse, KeepsARangeThatHasNoWidth) {
  EXPECT_EQ(calibrator_named("mse").choose(Histogram({0, 0}), 256), (Range{0, 0}));
}

TEST(Calibrators, AreNamed) {
  try {
    calibrator_named("entropy");
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("min_max"));
  }
}

TEST(Statistics, DoNotDependOnTheOrder) {
  std::mt19937 rng(seed());
  std::normal_distribution<float> normal(0, 1);
  std::vector<std::vector<float>> samples(20, std::vector<float>(50));
  for (auto& s : samples)
    for (float& x : s) x = normal(rng);
  const auto gather = [&] {
    RangeStatistics s, other;
    for (std::size_t i = 0; i < samples.size(); i++) (i % 3 ? s : other).add_sample(samples[i]);
    s.merge(other);
    Histogram h({-4, 4}), second({-4, 4});
    for (std::size_t i = 0; i < samples.size(); i++) (i % 2 ? h : second).add(samples[i]);
    h.merge(second);
    return std::tuple(s.lowest, s.highest, s.second_lowest, s.second_highest, h.counts, h.zeros);
  };
  const auto before = gather();
  std::ranges::shuffle(samples, rng);
  EXPECT_EQ(gather(), before);
}

TEST(Statistics, RememberTheExtremesWithoutTheFurthestSample) {
  RangeStatistics s;
  for (float top : {3.0f, 9.0f, 5.0f}) {
    const float values[] = {-top / 10, top};
    s.add_sample(values);
  }
  EXPECT_EQ(s.highest, 9);
  EXPECT_EQ(s.second_highest, 5);
  EXPECT_FLOAT_EQ(s.second_lowest, -0.5f);
}

TEST(Statistics, CountWhatIsNotFiniteAndLeaveItOut) {
  RangeStatistics s;
  const float values[] = {1, INFINITY, NAN, -2};
  s.add_sample(values);
  EXPECT_EQ(s.not_finite, 2u);
  EXPECT_EQ(s.range(), (Range{-2, 1}));
}

}  // namespace
}  // namespace longshore::tests::quantize_scale_test
