// What codes do to the outputs: by hand, and against the whole graph with one value rounded.
#include "quantize/output_noise.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "ir/op.hpp"
#include "tensor/quant.hpp"

namespace longshore::tests::output_noise_test {
namespace {

ValueId named(const Graph& g, std::string_view name) {
  for (std::size_t i = 0; i < g.values.size(); i++)
    if (g.values[i].name == name) return ValueId{static_cast<std::uint32_t>(i)};
  ADD_FAILURE() << "no value " << name;
  return no_value;
}

TEST(OutputNoise, NearnessByHand) {
  const Graph g = parse("(x: f32[1,3]) { y = Relu(x) z = Neg(x) return y, z }");
  // Logits 2, 1, 0 are 0.6652, 0.2447 and 0.0900 of probability.
  const Outputs want = {{0, {{2, 1, 0}, {3, 4, 0}}}};
  EXPECT_EQ(nearness(g, want, want).noise, 0);
  EXPECT_EQ(nearness(g, want, want).db(), 300);
  EXPECT_EQ(nearness(g, want, want).drop_percent(), 0);
  // Squares 1 of 5, and nothing of 25.
  const Nearness n = nearness(g, want, {{0, {{2, 2.5f, 0}, {3, 4, 0}}}});
  EXPECT_DOUBLE_EQ(n.noise, 2.25 / 5);
  EXPECT_NEAR(n.db(), 10 * std::log10(5 / 2.25), 1e-9);
  EXPECT_NEAR(n.lost_percent, 42.05, 0.01);
  EXPECT_DOUBLE_EQ(n.drop_percent(), 45) << "the noise is more";
}

TEST(OutputNoise, ProbabilitiesAreTakenAsTheyAre) {
  const Graph g = parse("(x: f32[2,2]) { y = Softmax(x) return y }");
  const Outputs want = {{0, {{0.75f, 0.25f, 0.5f, 0.5f}}}};
  const Nearness n = nearness(g, want, {{0, {{0.25f, 0.75f, 0.5f, 0.5f}}}});
  EXPECT_DOUBLE_EQ(n.lost_percent, 25) << "half a point of the first of two rows";
}

TEST(OutputNoise, PicturesHaveNoRows) {
  const Graph g = parse("(x: f32[1,1,1,2]) { y = Relu(x) return y }");
  EXPECT_EQ(nearness(g, {{0, {{1, 0}}}}, {{0, {{0, 1}}}}).lost_percent, 0);
}

/// A branch that reads what is before the value, one that the value does not reach, and the value
/// itself as an output.
Graph branches() {
  return parse(R"((x: f32[2,4]) {
  a = Tanh(x)
  b = Add(a, x)
  c = Mul(b, a)
  d = Exp(x)
  e = Concat(c, d, axis=1)
  return e, b, d })");
}

std::vector<std::vector<Tensor>> samples() {
  std::vector<std::vector<Tensor>> out;
  for (int i = 0; i < 3; i++) {
    std::vector<float> x;
    for (int k = 0; k < 8; k++) x.push_back(std::sin(static_cast<float>(8 * i + k)));
    out.push_back({make_floats(Shape{2, 4}, x)});
  }
  return out;
}

TEST(OutputNoise, IsThatOfTheGraphWithOneValueRounded) {
  const Graph g = branches();
  const ScaleAndZero codes{0.05f, 3};
  for (const auto& [name, rounded] :
       {std::pair("b",
                  "(x: f32[2,4]) { a = Tanh(x) b0 = Add(a, x) q: i8[2,4] q(0.05, 3) = "
                  "longshore.Quantize(b0) b = longshore.Dequantize(q) c = Mul(b, a) d = "
                  "Exp(x) e = Concat(c, d, axis=1) return e, b, d }"),
        std::pair("x",
                  "(x0: f32[2,4]) { q: i8[2,4] q(0.05, 3) = longshore.Quantize(x0) x = "
                  "longshore.Dequantize(q) a = Tanh(x) b = Add(a, x) c = Mul(b, a) d = "
                  "Exp(x) e = Concat(c, d, axis=1) return e, b, d }"),
        std::pair("a",
                  "(x: f32[2,4]) { a0 = Tanh(x) q: i8[2,4] q(0.05, 3) = "
                  "longshore.Quantize(a0) a = longshore.Dequantize(q) b = Add(a, x) c = "
                  "Mul(b, a) d = Exp(x) e = Concat(c, d, axis=1) return e, b, d }")}) {
    const Graph other = parse(rounded);
    Outputs want, got;
    for (std::size_t i = 0; i < samples().size(); i++)
      for (const auto& [graph, to] : {std::pair(&g, &want), std::pair(&other, &got)})
        for (const Tensor& t : evaluate(*graph, samples()[i]))
          (*to)[i].emplace_back(t.values<float>().begin(), t.values<float>().end());
    for (const int threads : {1, 3}) {
      Calibration c = calibration_from(samples());
      c.threads = threads;
      const Rounded one{named(g, name), codes, DType::i8};
      const std::vector<double> noise = output_noise(g, c, std::vector<Rounded>{one, one});
      EXPECT_NEAR(noise[0], nearness(g, want, got).noise, 1e-12) << name;
      EXPECT_GT(noise[0], 0) << name;
      EXPECT_EQ(noise[1], noise[0]);
    }
  }
}

TEST(OutputNoise, OfWhatReachesNoFloatOutputIsNone) {
  const Graph g = parse("(x: f32[2,4]) { a = Tanh(x) b = Exp(x) k = ArgMax(b) return a, k }");
  const std::vector<double> noise = output_noise(
      g, calibration_from(samples()), std::vector<Rounded>{{named(g, "b"), {0.1f, 0}, DType::i8}});
  EXPECT_EQ(noise, std::vector<double>{0});
}

}  // namespace
}  // namespace longshore::tests::output_noise_test
