// Additive masks before a Softmax: the codes are for the scores, whatever the mask's constant.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "quantize/prepare.hpp"
#include "quantize/quantize.hpp"
#include "random.hpp"

namespace longshore::tests::masks_test {
namespace {

/// Scores of random queries and keys, and a mask of `low` at random positions, never all of a row.
std::vector<std::vector<Tensor>> samples(const Graph& g, float low, int count) {
  std::vector<std::vector<Tensor>> out;
  for (int i = 0; i < count; i++) {
    std::vector<Tensor> in = random_inputs(g, seed() + 13 * static_cast<unsigned>(i));
    std::mt19937 rng(seed() + static_cast<unsigned>(i));
    std::vector<float> mask(8);
    for (std::size_t k = 1; k < mask.size(); k++) mask[k] = rng() % 2 ? low : 0.0f;
    in[1] = make_floats(in[1].shape, mask);
    out.push_back(std::move(in));
  }
  return out;
}

std::string attention(const std::string& more = "return y") {
  return R"((x: f32[1,8,8], mask: f32[1,1,8]) {
    w = f32[8,8]{0.5,-0.2,0.1,0.7,-0.4,0.3,0.2,-0.6,0.1,0.4,-0.3,0.2,0.5,-0.1,-0.2,0.3,0.3,-0.5,0.4,0.1,-0.2,0.6,0.2,-0.1,0.2,0.1,0.3,-0.4,0.5,0.2,-0.3,0.1,-0.1,0.3,0.2,0.4,-0.5,0.1,0.6,-0.2,0.4,0.2,-0.1,0.3,0.1,-0.6,0.5,0.2,-0.3,0.6,0.1,-0.2,0.4,0.3,-0.1,0.5,0.2,-0.4,0.5,0.1,-0.3,0.2,0.4,-0.1}
    k: f32[1,8,8] = MatMul(x, w)
    s: f32[1,8,8] = MatMul(x, k)
    a: f32[1,8,8] = Add(s, mask)
    p: f32[1,8,8] = Softmax(a, axis=-1)
    y: f32[1,8,8] = MatMul(p, k) )" +
         more + " }";
}

struct Result {
  double sqnr = 0;
  std::map<std::string, ValueRecord> values;
};
Result quantised(const Graph& g, float low) {
  QuantizeReport report;
  const Graph q = quantize(g, calibration_from(samples(g, low, 32)), {}, &report);
  Result out;
  for (const ValueRecord& v : report.values) out.values[v.name] = v;
  double signal = 0, noise = 0;
  for (const std::vector<Tensor>& in : samples(g, low, 8)) {
    const std::vector<Tensor> want = evaluate(g, in), got = evaluate(q, in);
    for (std::size_t i = 0; i < want[0].values<float>().size(); i++) {
      const double x = static_cast<double>(want[0].values<float>()[i]),
                   y = static_cast<double>(got[0].values<float>()[i]);
      signal += x * x, noise += (x - y) * (x - y);
    }
  }
  out.sqnr = 10 * std::log10(signal / noise);
  return out;
}

TEST(Masks, AnyConstantIsAsGoodAsNone) {
  const Graph g = parse(attention());
  const double none = quantised(g, 0).sqnr;
  for (const float low :
       {-1000.0f, -10000.0f, -65504.0f, -1e9f, -3.4e38f, -std::numeric_limits<float>::infinity()}) {
    const Result r = quantised(g, low);
    EXPECT_GT(r.sqnr, none - 6) << low;
    EXPECT_EQ(r.values.at("a").method, "additive mask") << low;
    EXPECT_EQ(r.values.at("mask").method, "additive mask") << low;
    // What is masked ends far enough below the lowest score to have no part.
    const Range scores = r.values.at("s").observed;
    EXPECT_LE(r.values.at("a").chosen.lowest, scores.lowest - 6) << low;
    EXPECT_GE(r.values.at("a").chosen.lowest, scores.lowest - 9) << low;
  }
}

// Where a condition chooses between scores and a constant, the sum with a mask is the same.
TEST(Masks, ConditionsAreMasksToo) {
  const double none = quantised(parse(attention()), 0).sqnr;
  for (const char* low : {"-10000", "-1e9", "-3.4028234e38", "-inf"})
    for (const bool negated : {false, true}) {
      std::string text = attention();
      const std::string sum = "Add(s, mask)";
      // Columns of the mask's zeros are kept.
      text.replace(text.find(sum), sum.size(),
                   negated ? fmt::format("Where(out, f32[]{{{}}}, s)", low)
                           : fmt::format("Where(kept, s, f32[]{{{}}})", low));
      text.insert(text.find("a: f32"),
                  "kept: bool[1,1,8] = Equal(mask, f32[]{0}) out: bool[1,1,8] = Not(kept) ");
      const Result r = quantised(parse(text), -1);
      EXPECT_GT(r.sqnr, none - 6) << text;
      EXPECT_EQ(r.values.at("a").method, "additive mask") << text;
    }
}

// A bias that ranks scores is no mask, and one that others read is wanted whole.
TEST(Masks, OthersKeepTheirRange) {
  EXPECT_NE(quantised(parse(attention()), -20).values.at("a").method, "additive mask");
  const Graph seen = parse(attention("z: f32[1,1,8] = Mul(mask, mask) return y, z"));
  EXPECT_NE(quantised(seen, -10000).values.at("a").method, "additive mask");
  const Graph outside = parse(attention("return y, a"));
  EXPECT_NE(quantised(outside, -10000).values.at("a").method, "additive mask");
  std::string text = attention();
  text.replace(text.find("Softmax(a, axis=-1)"), 19, "Sigmoid(a)");
  EXPECT_NE(quantised(parse(text), -10000).values.at("a").method, "additive mask");
}

// Nobody but a Softmax may take a condition's constant for "not at all", nor one that is not low.
TEST(Masks, OtherConditionsStay) {
  const auto chosen = [](const std::string& low, const std::string& reader) {
    const Graph g = parse("(x: f32[1,8,8], c: bool[1,1,8]) { a: f32[1,8,8] = Where(c, x, f32[]{" +
                          low + "}) y: f32[1,8,8] = " + reader + " }");
    const Graph p = prepare_for_quantisation(g, [](const Node&) { return true; });
    return print(p).find("Where(c, x") != std::string::npos;
  };
  EXPECT_FALSE(chosen("-1e9", "Softmax(a) return y"));
  EXPECT_TRUE(chosen("-4000", "Softmax(a) return y"));
  EXPECT_TRUE(chosen("1e9", "Softmax(a) return y"));
  EXPECT_TRUE(chosen("nan", "Softmax(a) return y"));
  EXPECT_TRUE(chosen("-1e9", "Relu(a) return y"));
  EXPECT_TRUE(chosen("-1e9", "Softmax(a) z: f32[1,8,8] = Neg(a) return y, z"));
}

}  // namespace
}  // namespace longshore::tests::masks_test
