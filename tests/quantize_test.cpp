// The stage Graph x samples -> Graph, on graphs as text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "ir/op.hpp"
#include "quantize/quantize.hpp"
#include "random.hpp"
#include "tensor/quant.hpp"
#include "tensor/requantise.hpp"

namespace longshore::tests::quantize_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::vector<Tensor>> random_samples(const Graph& g, int count) {
  std::vector<std::vector<Tensor>> out;
  for (int i = 0; i < count; i++)
    out.push_back(random_inputs(g, seed() + 77 * static_cast<unsigned>(i)));
  return out;
}

std::vector<std::string> operators(const Graph& g) {
  std::vector<std::string> out;
  for (const Node& n : g.nodes) out.push_back(qualified_name(*n.op));
  return out;
}

const Value& value_named(const Graph& g, std::string_view name) {
  for (const Value& v : g.values)
    if (v.name == name) return v;
  ADD_FAILURE() << "no value " << name << " in\n" << summary(g);
  return g.values[0];
}

struct Quantised {
  Graph before, after;
  QuantizeReport report;
};

Quantised quantised(std::string_view text, const QuantizeOptions& options = {}, int samples = 20) {
  Quantised q;
  q.before = parse(text);
  q.after =
      quantize(q.before, calibration_from(random_samples(q.before, samples)), options, &q.report);
  EXPECT_TRUE(parse(print(q.after)) == q.after) << "the text form loses something";
  return q;
}

/// 10 log10 of signal over noise over several inputs.
double sqnr(const Graph& want, const Graph& got, int count = 4) {
  double signal = 0, noise = 0;
  for (const std::vector<Tensor>& in : random_samples(want, count)) {
    const std::vector<Tensor> a = evaluate(want, in), b = evaluate(got, in);
    for (std::size_t o = 0; o < a.size(); o++)
      for (std::size_t i = 0; i < a[o].values<float>().size(); i++) {
        const double x = a[o].values<float>()[i], y = b[o].values<float>()[i];
        signal += x * x;
        noise += (x - y) * (x - y);
      }
  }
  if (noise == 0) return 100;  // exact, also where a net gives nothing but zeros
  return 10 * std::log10(signal / noise);
}

constexpr std::string_view small_net =
    "(x: f32[1,2,6,6]) { w = "
    "f32[3,2,3,3]{0.5,-0.25,0.1,0.3,-0.7,0.2,0.4,-0.1,0.6,0.15,-0.35,0.45,-0.55,0.65,0.05,0.25,"
    "-0.15,0.35,0.5,-0.2,0.1,0.3,0.7,0.2,0.4,-0.1,-0.6,0.15,0.35,0.45,-0.55,-0.65,0.05,0.25,-0.15,"
    "0.35,0.5,-0.25,0.1,"
    "-0.3,-0.7,0.2,0.4,0.1,0.6,-0.15,-0.35,0.45,0.55,0.65,0.05,-0.25,-0.15,0.35} b = "
    "f32[3]{0.1,-0.2,0.3} "
    "c = com.microsoft.FusedConv(x, w, b, activation=\"Relu\", pads=[1,1,1,1]) "
    "p = MaxPool(c, kernel_shape=[2,2], strides=[2,2]) "
    "v = f32[2,3,1,1]{0.5,-0.25,0.1,0.3,-0.7,0.2} y = Conv(p, v) return y }";

TEST(Quantize, PutsCodesBetweenTheBorders) {
  const Quantised q = quantised(small_net);
  EXPECT_THAT(operators(q.after), ElementsAre("longshore.Quantize", "com.microsoft.FusedConv",
                                              "MaxPool", "Conv", "longshore.Dequantize"));
  EXPECT_EQ(q.after[q.after.inputs[0]].type.dtype, DType::f32);
  EXPECT_EQ(q.after[q.after.outputs[0]].type.dtype, DType::f32);
  EXPECT_EQ(q.after[q.after.outputs[0]].name, "y");
  EXPECT_EQ(value_named(q.after, "c").type.dtype, DType::i8);
  EXPECT_EQ(value_named(q.after, "c").type.quant.zero_point[0], -128)
      << "nothing is below zero after Relu";
  EXPECT_EQ(value_named(q.after, "w_q").type.quant.scale.size(), 3u);
  EXPECT_EQ(value_named(q.after, "b_q").type.dtype, DType::i32);
  EXPECT_GT(sqnr(q.before, q.after), 30);
  EXPECT_EQ(q.report.quantised_nodes, 3u);
  EXPECT_TRUE(q.report.float_nodes.empty());
}

TEST(Quantize, BiasScaleIsInputTimesWeights) {
  const Graph g = quantised(small_net).after;
  const Quantisation &x = value_named(g, "x_q").type.quant, &w = value_named(g, "w_q").type.quant,
                     &b = value_named(g, "b_q").type.quant;
  for (std::size_t c = 0; c < 3; c++) {
    EXPECT_EQ(b.scale[c], x.scale[0] * w.scale[c]);
    EXPECT_EQ(b.zero_point[c], 0);
  }
}

// |x| is the identity on the codes of its own range. If the Conv wrote that range, what lies below
// zero would become 0 and not its magnitude.
TEST(Quantize, AFunctionThatFoldsItsRangeIsNotTakenForAClamp) {
  const Graph g = parse("(x: f32[1,1,1,8]) { c = Conv(x, f32[1,1,1,1]{1}) y = Abs(c) return y }");
  const float x[] = {-4, -3, -2, -1, 0, 1, 2, 3}, want[] = {4, 3, 2, 1, 0, 1, 2, 3};
  const std::vector<Tensor> in = {make_floats({1, 1, 1, 8}, x)};
  const Graph q = quantize(g, calibration_from({in}));
  const std::vector<Tensor> got = evaluate(q, in);
  for (std::size_t i = 0; i < 8; i++)
    EXPECT_NEAR(got[0].values<float>()[i], want[i], 8.0f / 255) << x[i];
}

// Numbers near zero keep their bits, however far the function could reach.
TEST(Quantize, AKnownRangeIsLeftWhereLittleOfItIsUsed) {
  const auto type_of_y = [](float x) {
    const Graph g =
        parse("(x: f32[1,1,1,2]) { c = Conv(x, f32[1,1,1,1]{1}) y = Tanh(c) return y }");
    return value_named(
               quantize(g, calibration_from({{make_floats({1, 1, 1, 2}, std::vector{-x, x})}})),
               "y_q")
        .type.quant;
  };
  EXPECT_EQ(type_of_y(0.07f), (Quantisation{{1.0f / 128}, {0}, 0}));
  EXPECT_NEAR(type_of_y(0.05f).scale.at(0), 0.1 / 255, 1e-4);
}

// Ceil and Floor are the identity on codes of scale 1, but what lies between these they do not
// round: the node before must not write their codes.
TEST(Quantize, AFunctionThatRoundsAnotherWayIsNotTakenForAClamp) {
  const struct {
    const char* function;
    float x, want;
  } cases[] = {{"Ceil", -0.6f, 0}, {"Floor", 0.6f, 0}, {"Ceil", -1.6f, -1}, {"Floor", 1.6f, 1}};
  for (const auto& c : cases) {
    const Graph g = parse(
        str("(x: f32[1,1,1,1]) { c = Conv(x, f32[1,1,1,1]{1}) y = ", c.function, "(c) return y }"));
    const std::vector<Tensor> in = {make_floats({1, 1, 1, 1}, std::vector{c.x})};
    const std::vector<Tensor> got = evaluate(quantize(g, calibration_from({in})), in);
    EXPECT_NEAR(got[0].values<float>()[0], c.want, 0.02) << c.function << " of " << c.x;
  }
}

/// The same of all functions that become tables.
TEST(Quantize, EveryTableAfterAConvolutionStaysWhatItIs) {
  int tried = 0;
  for (const OpDef* op : ops::all()) {
    if (op->quant != Quant::table) continue;
    const Graph g =
        parse("(x: f32[1,1,8,8]) { c = Conv(x, f32[1,1,1,1]{1}) y = " + qualified_name(*op) +
              "(c) return y }");
    const std::vector<Tensor> in = random_inputs(g, seed());
    const std::vector<Tensor> y = evaluate(g, in);
    if (std::ranges::any_of(y[0].values<float>(), [](float v) { return !std::isfinite(v); }))
      continue;  // it has no value somewhere
    const Graph q = quantize(g, calibration_from({in}));
    double signal = 0, noise = 0;
    const std::vector<Tensor> got = evaluate(q, in);
    for (std::size_t i = 0; i < 64; i++) {
      const double a = y[0].values<float>()[i], b = got[0].values<float>()[i];
      signal += a * a;
      noise += (a - b) * (a - b);
    }
    tried++;
    // These are as steep as they like.
    if (op->name == "Reciprocal" || op->name == "Tan") continue;
    EXPECT_GT(signal, 10 * noise) << op->name;
  }
  EXPECT_GT(tried, 25);
}

// What Pad fills with is part of the range, however seldom the numbers beside it come near.
TEST(Quantize, TheNumberThatPadFillsWithIsKept) {
  const Quantised q = quantised(
      "(x: f32[1,1,4,4]) { c = Conv(x, f32[1,1,1,1]{0.05}) t = Sigmoid(c) m = Mul(t, c) y = Pad(m, "
      "i64[8]{0,0,1,1,0,0,1,1}, f32[]{-7}) return y }");
  EXPECT_GT(sqnr(q.before, q.after), 25);
}

TEST(Quantize, MovesShareTheScale) {
  const Quantised q = quantised(
      "(x: f32[1,4,4,4]) { w = f32[4,4,1,1]{0.3} c = Conv(x, w) m = MaxPool(c, kernel_shape=[2,2]) "
      "t = Transpose(m, perm=[0,2,3,1]) r = Reshape(t, i64[2]{1, -1}) s = Slice(r, i64[1]{3}, "
      "i64[1]{30}, i64[1]{1}) "
      "return s }");
  const Quantisation& c = value_named(q.after, "c").type.quant;
  for (const char* name : {"m", "t", "r", "s_q"})
    EXPECT_EQ(value_named(q.after, name).type.quant, c) << name;
}

TEST(Quantize, InputsAndConstantsKeepTheirWholeRange) {
  Graph g = parse("(x: f32[1,1,2,2]) { y = Conv(x, f32[1,1,1,1]{1.0}) return y }");
  std::vector<std::vector<Tensor>> samples;
  for (int i = 0; i < 40; i++) {  // many zeros and ones, one 255: mse would clip it
    const float values[] = {0.5f, 0.25f, 1, i == 7 ? 255.0f : 1.0f};
    samples.push_back({make_floats({1, 1, 2, 2}, values)});
  }
  g = quantize(g, calibration_from(samples));
  EXPECT_EQ(value_named(g, "x_q").type.quant, (Quantisation{{1}, {-128}, 0}));
}

TEST(Quantize, SigmoidHasAKnownRange) {
  const Quantised q = quantised(
      "(x: f32[1,2,4,4]) { c = Conv(x, f32[2,2,1,1]{0.4}) s = Sigmoid(c) y = Mul(c, s) return y }");
  EXPECT_EQ(value_named(q.after, "s").type.quant, (Quantisation{{1.0f / 256}, {-128}, 0}));
}

TEST(Quantize, FinalSoftmaxStaysFloatUnlessAskedFor) {
  constexpr std::string_view text =
      "(x: f32[1,4]) { w = f32[3,4]{0.1,0.2,0.3,0.4,0.5,0.6,0.7,-0.8,0.9,-1.0,0.5,0.1} g = Gemm(x, "
      "w, transB=1) "
      "y = Softmax(g) return y }";
  const Quantised q = quantised(text);
  EXPECT_EQ(operators(q.after).back(), "Softmax");
  EXPECT_THAT(q.report.float_nodes.at(0).reason.text, HasSubstr("probabilities"));
  const Quantised all = quantised(text, {.float_final_probabilities = false});
  EXPECT_EQ(value_named(all.after, "y_q").type.quant, (Quantisation{{1.0f / 256}, {-128}, 0}));
}

TEST(Quantize, ClampsBecomeTheRangeOfTheNodeBefore) {
  const Quantised q = quantised(
      "(x: f32[1,2,4,4]) { a = Conv(x, f32[2,2,1,1]{0.4,0.1,-0.3,0.7}) b = Conv(x, "
      "f32[2,2,1,1]{0.2,-0.6,0.3,0.1}) "
      "s = Add(a, b) r = Relu(s) t = Mul(r, r) k = Clip(t, f32[]{0}, f32[]{6}) y = Conv(k, "
      "f32[1,2,1,1]{1}) return y }");
  EXPECT_THAT(operators(q.after), ElementsAre("longshore.Quantize", "Conv", "Conv", "Add", "Mul",
                                              "Conv", "longshore.Dequantize"));
  EXPECT_EQ(value_named(q.after, "s").type.quant.zero_point[0], -128);
  EXPECT_LE(value_named(q.after, "t").type.quant.scale[0], 6.0f / 255 * 1.0001f);
  EXPECT_GT(sqnr(q.before, q.after), 25);
}

TEST(Quantize, AClampThatMovesValuesStays) {
  const Quantised q = quantised(
      "(x: f32[1,2,4,4]) { a = Conv(x, f32[2,2,1,1]{0.4,0.1,-0.3,0.7}) s = Add(a, a) k = Clip(s, "
      "f32[]{1}, f32[]{2}) return k }");
  EXPECT_THAT(operators(q.after), testing::Contains("Clip"));
  EXPECT_GT(sqnr(q.before, q.after), 30);
}

TEST(Quantize, OtherFusedActivationsBecomeTables) {
  const Quantised q = quantised(
      "(x: f32[1,2,4,4]) { y = com.microsoft.FusedConv(x, f32[2,2,1,1]{0.4,0.1,-0.3,0.7}, "
      "activation=\"LeakyRelu\", "
      "activation_params=[0.25]) return y }");
  EXPECT_THAT(operators(q.after),
              ElementsAre("longshore.Quantize", "Conv", "LeakyRelu", "longshore.Dequantize"));
  EXPECT_GT(sqnr(q.before, q.after), 30);
}

TEST(Quantize, AFusedResidualBecomesAnAdd) {
  const Quantised q = quantised(
      "(x: f32[1,2,4,4]) { z = Conv(x, f32[2,2,1,1]{0.3}) y = com.microsoft.FusedConv(x, "
      "f32[2,2,1,1]{0.4,0.1,-0.3,0.7}, _, z, "
      "activation=\"Relu\") return y }");
  EXPECT_THAT(operators(q.after),
              ElementsAre("longshore.Quantize", "Conv", "Conv", "Add", "longshore.Dequantize"));
  EXPECT_GT(sqnr(q.before, q.after), 30);
}

TEST(Quantize, GemmGetsItsChannelsOnAxis0AndItsFactorsFolded) {
  const Quantised q = quantised(
      "(x: f32[2,3]) { w = f32[3,4]{0.1,0.2,0.3,0.4,0.5,0.6,0.7,-0.8,0.9,-1.0,0.5,0.1} b = "
      "f32[1,4]{1,2,3,4} "
      "y = Gemm(x, w, b, alpha=0.5, beta=2.0) return y }");
  const Value& w = value_named(q.after, "w_prepared_q");
  EXPECT_EQ(w.constant.shape, (Shape{4, 3}));
  EXPECT_FLOAT_EQ(w.type.quant.scale[1], 1.0f * 0.5f / 127);
  EXPECT_GT(sqnr(q.before, q.after), 30);
}

// Two nodes with the same weights get constants of their own, under names of their own.
TEST(Quantize, SharedWeightsAreTransposedForEachNode) {
  const Quantised q = quantised(
      "(x: f32[2,2]) { w = f32[2,2]{0.1,0.2,0.3,-0.4} a = Gemm(x, w) y = Gemm(a, w, alpha=0.5) "
      "return y }");
  EXPECT_GT(sqnr(q.before, q.after), 25);
}

TEST(Quantize, MatMulOfTwoActivations) {
  const Quantised q = quantised(
      "(x: f32[2,3,3]) { w = f32[3,3]{0.1,0.2,0.3,0.4,0.5,0.6,0.7,-0.8,0.9} a = MatMul(x, w) y = "
      "MatMul(a, a) return y }");
  EXPECT_THAT(operators(q.after),
              ElementsAre("longshore.Quantize", "MatMul", "MatMul", "longshore.Dequantize"));
  EXPECT_GT(sqnr(q.before, q.after), 20);
}

// MAC arrays want zero point 0 of weights, computed ones included; what lies on one side of zero
// would lose half of its codes.
TEST(Quantize, ComputedWeightsLieAroundZeroWhereThatCostsLittle) {
  const std::string_view begin =
      "(x: f32[2,3,3]) { w = f32[3,3]{0.1,0.2,0.3,0.4,0.5,0.6,0.7,-0.8,0.9} a = MatMul(x, w) ";
  const Quantised around =
      quantised(str(begin, "b = Transpose(a, perm=[0,2,1]) y = MatMul(a, b) return y }"));
  EXPECT_EQ(value_named(around.after, "b").type.quant.zero_point, std::vector<std::int32_t>{0});
  const Quantised beside = quantised(str(begin, "b = Relu(a) y = MatMul(a, b) return y }"));
  EXPECT_EQ(value_named(beside.after, "b").type.quant.zero_point, std::vector<std::int32_t>{-128});
  for (const Quantised* q : {&around, &beside}) EXPECT_GT(sqnr(q->before, q->after), 20);
}

TEST(Quantize, WhatHasNoIntegerFormStaysFloatInBetween) {
  const Quantised q = quantised(
      "(x: f32[1,2,4,4]) { a = Conv(x, f32[2,2,1,1]{0.4,0.1,-0.3,0.7}) n = "
      "InstanceNormalization(a, "
      "f32[2]{1,2}, f32[2]{0.5,1}) "
      "b = Conv(n, f32[2,2,1,1]{0.4,0.1,-0.3,0.7}) y = Add(a, b) return y }");
  EXPECT_THAT(operators(q.after), ElementsAre("longshore.Quantize", "Conv", "longshore.Dequantize",
                                              "InstanceNormalization", "longshore.Quantize", "Conv",
                                              "Add", "longshore.Dequantize"));
  EXPECT_THAT(q.report.float_nodes.at(0).reason.text, HasSubstr("no integer form"));
}

TEST(Quantize, NonConstantWeightsStayFloat) {
  const Quantised q = quantised(
      "(x: f32[1,2,4,4], w: f32[2,2,1,1]) { a = Conv(x, w) y = Conv(a, "
      "f32[2,2,1,1]{0.4,0.1,-0.3,0.7}) return y }");
  EXPECT_THAT(operators(q.after),
              ElementsAre("Conv", "longshore.Quantize", "Conv", "longshore.Dequantize"));
  EXPECT_THAT(q.report.float_nodes.at(0).reason.text, HasSubstr("not constant"));
}

TEST(Quantize, AGraphWithoutWeightsStaysFloat) {
  const Quantised q =
      quantised("(x: f32[2,3,3]) { a = Add(x, x) m = MatMul(a, a) y = Relu(m) return y }");
  EXPECT_THAT(operators(q.after), ElementsAre("Add", "MatMul", "Relu"));
  EXPECT_EQ(q.report.float_nodes.size(), 3u);
}

TEST(Quantize, LeavesOutWhatIsExcluded) {
  for (const char* name : {"c", "com.microsoft.FusedConv", "FusedConv"}) {
    const Quantised q = quantised(small_net, {.exclude = {name}});
    EXPECT_EQ(operators(q.after)[0], "com.microsoft.FusedConv") << name;
    EXPECT_THAT(q.report.float_nodes.at(0).reason.text, HasSubstr("excluded"));
  }
}

TEST(Quantize, ConcatOfNearRangesSharesOneScale) {
  const Quantised q = quantised(
      "(x: f32[1,2,4,4]) { a = Conv(x, f32[2,2,1,1]{0.4,0.1,-0.3,0.7}) b = Conv(x, "
      "f32[2,2,1,1]{-0.4,0.2,0.3,0.6}) "
      "y = Concat(a, b, axis=1) return y }");
  EXPECT_EQ(value_named(q.after, "a").type.quant, value_named(q.after, "y_q").type.quant);
  EXPECT_EQ(value_named(q.after, "b").type.quant, value_named(q.after, "y_q").type.quant);
}

TEST(Quantize, ConcatOfOtherRangesRescales) {
  const Quantised q = quantised(
      "(x: f32[1,2,4,4]) { a = Conv(x, f32[2,2,1,1]{0.4,0.1,-0.3,0.7}) b = Conv(x, "
      "f32[2,2,1,1]{-4,2,3,6}) "
      "y = Concat(a, b, axis=1) return y }");
  EXPECT_LT(value_named(q.after, "a").type.quant.scale[0] * 4,
            value_named(q.after, "y_q").type.quant.scale[0]);
  EXPECT_THAT(q.report.warnings, testing::Not(testing::Contains(HasSubstr("Concat"))));
}

// A detection head: boxes in pixels beside scores in 0..1 (ultralytics PR#25524).
TEST(Quantize, ConcatOfFarRangesKeepsTheScalesApart) {
  const Quantised q = quantised(
      "(x: f32[1,2,4,4]) { a = com.microsoft.FusedConv(x, f32[2,2,1,1]{100,30,-60,90}, "
      "activation=\"Clip\", "
      "activation_params=[0,640]) s = Conv(x, f32[3,2,1,1]{0.4,0.1,-0.3,0.7,0.2,0.9}) b = "
      "Sigmoid(s) "
      "y = Concat(a, b, axis=1) return y }");
  EXPECT_EQ(operators(q.after).back(), "Concat");
  EXPECT_THAT(q.report.warnings, testing::Contains(HasSubstr("'y' (Concat)")));
  double dot = 0, aa = 0, bb = 0;
  for (const auto& in : random_samples(q.before, 4)) {
    const Tensor want = evaluate(q.before, in)[0], got = evaluate(q.after, in)[0];
    for (std::size_t i = 2 * 16; i < 5 * 16; i++) {  // the scores
      const double x = want.values<float>()[i], y = got.values<float>()[i];
      dot += x * y, aa += x * x, bb += y * y;
    }
  }
  EXPECT_GT(dot / std::sqrt(aa * bb), 0.98);
}

// A channel whose weights are nearly zero beside a bias of 100: with the plain scale the bias would
// be clipped and the channel lost (onnxruntime#11415).
TEST(Quantize, KeepsALargeBiasBesideTinyWeights) {
  const Quantised q = quantised(
      "(x: f32[1,1,4,4]) { y = Conv(x, f32[2,1,1,1]{0.0000001, 0.5}, f32[2]{100, 0.5}) return y }");
  for (const auto& in : random_samples(q.before, 3)) {
    const Tensor got = evaluate(q.after, in)[0];
    for (std::size_t i = 0; i < 16; i++) EXPECT_NEAR(got.values<float>()[i], 100, 0.5);
  }
  EXPECT_THAT(q.report.warnings, testing::Contains(HasSubstr("coarser weight scale")));
}

TEST(Quantize, MasksOfMinusInfinityStayFloat) {
  const Quantised q = quantised(
      "(x: f32[2,3,3]) { w = f32[3,3]{0.1,0.2,0.3,0.4,0.5,0.6,0.7,-0.8,0.9} a = MatMul(x, w) "
      "m = Add(a, f32[3,3]{0,-inf,-inf,0,0,-inf,0,0,0}) s = Softmax(m) y = MatMul(s, a) return y "
      "}");
  EXPECT_THAT(operators(q.after), testing::Contains("longshore.Dequantize"));
  for (const auto& in : random_samples(q.before, 3)) {
    const Tensor got = evaluate(q.after, in)[0];
    for (float v : got.values<float>()) EXPECT_TRUE(std::isfinite(v));
  }
  EXPECT_GT(sqnr(q.before, q.after), 20);
}

TEST(Quantize, AnEmptySetIsAnError) {
  try {
    quantize(parse(small_net), Calibration{});
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "the calibration data set is empty");
    EXPECT_EQ(e.code(), Code::bad_argument);
  }
}

TEST(Quantize, UnreadableSamplesAreListed) {
  const Graph g = parse(small_net);
  Calibration c = calibration_from(random_samples(g, 20));
  c.name = [](std::size_t i) { return str("picture", i, ".png"); };
  const auto read = c.sample;
  c.sample = [&](std::size_t i) {
    if (i % 5 == 2) fail(Code::io, "not a picture");
    return read(i);
  };
  QuantizeReport report;
  quantize(g, c, {}, &report);
  EXPECT_EQ(report.samples, 16u);
  ASSERT_EQ(report.unreadable.size(), 4u);
  EXPECT_EQ(report.unreadable[1], (Unreadable{7, "picture7.png", "not a picture"}));
  EXPECT_THAT(report.warnings, testing::Contains(HasSubstr("4 of 20")));
  c.sample = [](std::size_t) -> std::vector<Tensor> { fail(Code::io, "not a picture"); };
  try {
    quantize(g, c);
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("picture0.png: not a picture"));
  }
}

TEST(Quantize, WarnsOfASampleThatStandsOut) {
  const Graph g = parse(small_net);
  std::vector<std::vector<Tensor>> samples = random_samples(g, 20);
  std::vector<float> loud(samples[4][0].values<float>().begin(),
                          samples[4][0].values<float>().end());
  for (float& x : loud) x *= 50;
  samples[4][0] = make_floats(samples[4][0].shape, loud);
  QuantizeReport report;
  quantize(g, calibration_from(samples), {}, &report);
  EXPECT_THAT(report.warnings, testing::Contains(HasSubstr("one sample alone widens the range")));
}

// A constant is seen once; that says nothing about the samples.
TEST(Quantize, DoesNotWarnOfConstants) {
  const Quantised q = quantised(
      "(x: f32[1,2,4,4]) { c = Conv(x, f32[2,2,1,1]{0.4,0.1,-0.3,0.7}) y = Add(c, "
      "f32[2,1,1]{0.5,-2}) return y }");
  const auto record =
      std::ranges::find(q.report.values, ValueRecord::Kind::constant, &ValueRecord::kind);
  ASSERT_NE(record, q.report.values.end());
  EXPECT_THAT(q.report.warnings,
              testing::Not(testing::Contains(HasSubstr("'" + record->name + "'"))));
}

TEST(Quantize, DoesNotDependOnTheOrderOfSamplesOrOnThreads) {
  const Graph g = parse(small_net);
  std::vector<std::vector<Tensor>> samples = random_samples(g, 24);
  const Graph first = quantize(g, calibration_from(samples));
  std::mt19937 rng(seed());
  std::ranges::shuffle(samples, rng);
  Calibration c = calibration_from(samples);
  c.threads = 3;
  EXPECT_EQ(print(quantize(g, c)), print(first));
}

/// The largest |mean of got - mean of want| over the channels of the first output.
double worst_mean(const Graph& want, const Graph& got,
                  const std::vector<std::vector<Tensor>>& samples) {
  std::vector<double> sums;
  for (const auto& in : samples) {
    const Tensor a = evaluate(want, in)[0], b = evaluate(got, in)[0];
    const auto channels = static_cast<std::size_t>(a.shape[1]),
               inner = static_cast<std::size_t>(a.shape.product(2, a.shape.rank));
    sums.resize(channels);
    for (std::size_t i = 0; i < channels * inner; i++)
      sums[i / inner] += (static_cast<double>(b.values<float>()[i]) - a.values<float>()[i]) /
                         static_cast<double>(inner * samples.size());
  }
  double worst = 0;
  for (double s : sums) worst = std::max(worst, std::abs(s));
  return worst;
}

// Inputs with a mean of 3: what rounding takes from 64 weights adds up to a shift of each channel.
TEST(Quantize, BiasCorrectionKeepsTheMeanOfEachChannel) {
  std::mt19937 rng(seed());
  std::normal_distribution<float> normal(0, 1);
  std::string text = "(x: f32[1,16,3,3]) { y = Conv(x, f32[8,16,2,2]{";
  for (int i = 0; i < 8 * 64; i++) text += str(i ? "," : "", normal(rng));
  const Graph g = parse(text + "}) return y }");
  std::vector<std::vector<Tensor>> samples = random_samples(g, 32);
  for (auto& s : samples) {
    std::vector<float> x(s[0].values<float>().begin(), s[0].values<float>().end());
    for (float& v : x) v = std::abs(v) + 3;
    s[0] = make_floats(s[0].shape, x);
  }
  const Graph with = quantize(g, calibration_from(samples), {.correct_bias = true});
  const Graph without = quantize(g, calibration_from(samples), {.correct_bias = false});
  EXPECT_LT(worst_mean(g, with, samples) * 3, worst_mean(g, without, samples));
}

TEST(Quantize, EveryRoundingModeStaysNear) {
  for (Rounding mode : {Rounding::f32_even, Rounding::fixed31_single, Rounding::fixed31_double}) {
    const Quantised q = quantised(small_net, {.rounding = mode});
    EXPECT_EQ(q.after.numbers, mode);
    EXPECT_GT(sqnr(q.before, q.after), 30);
  }
}

/// A chain of random layers with weights like those of trained nets.
std::string random_net(std::mt19937& rng) {
  std::normal_distribution<float> normal(0, 1);
  int channels = 3, size = 12, made = 0;
  std::string text = str("(x: f32[1,", channels, ",", size, ",", size, "]) { "), last = "x";
  const auto weights = [&](const Shape& s) {
    const float deviation = std::sqrt(2.0f / static_cast<float>(s.product(1, s.rank)));
    std::string out = "f32[";
    for (int i = 0; i < s.rank; i++) out += str(i ? "," : "", s[i]);
    out += "]{";
    for (std::int64_t i = 0; i < s.elements(); i++)
      out += str(i ? "," : "", normal(rng) * deviation);
    return out + "}";
  };
  const auto add = [&](const std::string& call) {
    const std::string name = str("v", made++);
    text += name + " = " + call + " ";
    last = name;
  };
  for (int layer = 0; layer < 5; layer++) {
    const std::string before = last;
    const int out = layer == 4 ? 4 : 4 + static_cast<int>(rng() % 5);
    switch (rng() % 6) {
      case 0:
        add("Conv(" + last + ", " + weights({channels, 1, 3, 3}) + ", " + weights({channels}) +
            str(", pads=[1,1,1,1], group=", channels, ")"));
        add("HardSwish(" + last + ")");
        break;
      case 1:
        add("com.microsoft.FusedConv(" + last + ", " + weights({out, channels, 3, 3}) + ", " +
            weights({out}) + ", pads=[1,1,1,1], activation=\"Relu\")");
        channels = out;
        break;
      case 2:
        add("com.microsoft.FusedConv(" + last + ", " + weights({out, channels, 1, 1}) +
            ", activation=\"Clip\", activation_params=[0,6])");
        channels = out;
        break;
      case 3:
        add("Conv(" + last + ", " + weights({channels, channels, 3, 3}) + ", pads=[1,1,1,1])");
        add("Add(" + last + ", " + before + ")");
        add("Relu(" + last + ")");
        break;
      case 4:
        add("Conv(" + last + ", " + weights({out, channels, 1, 1}) + ")");
        add("Concat(" + last + ", " + before + ", axis=1)");
        channels += out;
        break;
      default:
        add("Conv(" + last + ", " + weights({out, channels, 1, 1}) + ")");
        add(size > 3 ? "AveragePool(" + last + ", kernel_shape=[2,2], strides=[2,2])"
                     : "Identity(" + last + ")");
        size = size > 3 ? size / 2 : size;
        channels = out;
    }
  }
  return text + "return " + last + " }";
}

/// Each integer node, given the reference's codes as floats, computes in float what its code says
/// to within one code: scales, zero points, bias and clamps fit together.
void expect_local_agreement(const Graph& g, const std::vector<Tensor>& in) {
  Graph plain = g;
  for (Value& v : plain.values)
    v.type = v.type.quantised() ? TensorType(DType::f32, v.type.dims) : v.type;
  std::map<ValueId, Tensor> seen;
  const auto keep = [&](ValueId v, const TensorView& t) { seen[v] = copy_tensor(t); };
  evaluate(g, in, {.observe = keep});
  for (const Node& n : g.nodes) {
    if (n.op->domain == "longshore" || !g[n.outputs[0]].type.quantised()) continue;
    std::vector<Tensor> inputs;
    for (ValueId v : n.inputs) {
      if (v == no_value) {
        inputs.emplace_back();
        continue;
      }
      const Tensor& t = g.constant(v) ? *g.constant(v) : seen.at(v);
      std::vector<float> real(static_cast<std::size_t>(t.elements()));
      if (g[v].type.quantised()) {
        TensorView view = t.view();
        view.quant = g[v].type.quant.view();
        ASSERT_TRUE(dequantise_tensor(view, {DType::f32, t.shape, real.data(), {}}).ok());
      }
      inputs.push_back(g[v].type.quantised() ? make_floats(t.shape, real) : t);
    }
    const Tensor want = evaluate_node(plain, n, inputs)[0];
    const Quantisation& q = g[n.outputs[0]].type.quant;
    int worst = 0;
    for (std::int64_t i = 0; i < want.elements(); i++) {
      const int code = quantise(want.values<float>()[static_cast<std::size_t>(i)], q.scale[0],
                                q.zero_point[0], -128, 127);
      worst = std::max(worst, std::abs(code - load_code(seen.at(n.outputs[0]).view(), i)));
    }
    EXPECT_LE(worst, 1) << describe(n);
  }
}

TEST(Quantize, RandomNetsStayNearFloat) {
  std::mt19937 rng(seed());
  double sum = 0;
  for (int round = 0; round < 25; round++) {
    const Quantised q =
        quantised(random_net(rng), {.calibrator = round % 2 ? "mse" : "min_max"}, 16);
    sum += sqnr(q.before, q.after);
    expect_local_agreement(q.after, random_samples(q.before, 1)[0]);
    verify(q.after);
  }
  EXPECT_GT(sum / 25, 20);
}

// A mask that exporters write as -10,000 has a range like any other value; what stands for minus
// infinity would leave one code for all the rest.
TEST(Quantize, AMaskGetsCodesUnlessItStandsForInfinity) {
  const auto masked = [](const std::string& mask) {
    return quantised(
        "(x: f32[3,2]) { a = MatMul(x, f32[2,2]{0.5, -1, 1, 0.25}) b = Add(a, f32[2]{0, " + mask +
        "}) y = MatMul(b, f32[2,2]{0.5, 0.25, 0.001, 0.002}) return y }");
  };
  for (const char* mask : {"-10000", "10000", "-1e29"}) {
    const Quantised q = masked(mask);
    const TensorType& b = value_named(q.after, "b").type;
    ASSERT_TRUE(b.quantised()) << mask << "\n" << print(q.report);
    EXPECT_EQ(b.dtype, DType::i8);
    // Its codes reach the mask.
    EXPECT_NEAR(255 * b.quant.scale[0] / std::abs(std::stof(mask)), 1, 0.05) << mask;
    EXPECT_TRUE(q.report.float_nodes.empty()) << print(q.report);
  }
  for (const char* mask : {"-1.1e30", "-3.4e38", "1.1e30", "-inf"}) {
    const Quantised q = masked(mask);
    EXPECT_FALSE(value_named(q.after, "b").type.quantised()) << mask;
    EXPECT_EQ(value_named(q.after, "b").type.dtype, DType::f32) << mask;
    ASSERT_EQ(q.report.float_nodes.size(), 2u) << mask << "\n" << print(q.report);
    for (const FloatNode& n : q.report.float_nodes) {
      EXPECT_THAT(n.reason.text, HasSubstr("' has infinite or very large elements")) << mask;
      EXPECT_THAT(n.reason.change, HasSubstr("within 1e+30")) << mask;
    }
    // What does not meet the mask has codes as before.
    EXPECT_TRUE(std::ranges::any_of(q.after.values, [](const Value& v) {
      return v.type.quantised() && v.type.dtype == DType::i8;
    })) << mask;
  }
}

}  // namespace
}  // namespace longshore::tests::quantize_test
