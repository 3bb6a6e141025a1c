// Models that were quantised elsewhere, as text: what becomes of them and that their bytes stay.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "ir/op.hpp"
#include "quantize/import.hpp"
#include "random.hpp"

namespace longshore::tests::quantize_import_test {
namespace {

using testing::ElementsAre;

std::vector<std::string> operators(const Graph& g) {
  std::vector<std::string> out;
  for (const Node& n : g.nodes) out.push_back(qualified_name(*n.op));
  return out;
}

/// Random codes over the whole range of the type (random_inputs stays near zero).
std::vector<Tensor> full_range_inputs(const Graph& g, std::mt19937& rng) {
  std::vector<Tensor> in = random_inputs(g, static_cast<unsigned>(rng()));
  for (Tensor& t : in) {
    if (size_bytes(t.dtype) != 1) continue;
    std::vector<std::byte> bytes(t.bytes());
    for (std::byte& b : bytes) b = static_cast<std::byte>(rng());
    t.blob = make_blob(std::move(bytes));
  }
  return in;
}

void expect_same_bytes(const Graph& before, const Graph& after, int rounds = 20) {
  std::mt19937 rng(seed());
  for (int i = 0; i < rounds; i++) {
    const std::vector<Tensor> in = full_range_inputs(before, rng);
    ASSERT_EQ(evaluate(after, in), evaluate(before, in)) << summary(after);
  }
}

TEST(Import, QLinearConvBecomesConvOnCodes) {
  const Graph g = parse(
      "(x: u8[1,2,5,5]) { w = "
      "i8[4,1,3,3]{1,2,3,-4,5,6,7,8,-9,9,8,7,6,5,4,3,-2,1,-128,127,-100,90,80,70,-60,-50,40,30,-20,"
      "10,11,22,"
      "33,-44,55,66} y = QLinearConv(x, f32[]{0.02}, u8[]{130}, w, f32[4]{0.1,0.02,0.05,0.01}, "
      "i8[4]{0,0,0,0}, f32[]{0.3}, u8[]{100}, "
      "i32[4]{100,-2000,30,4}, group=2, pads=[1,1,1,1]) return y }");
  const Graph q = import_quantised(g);
  EXPECT_THAT(operators(q), ElementsAre("Conv"));
  EXPECT_EQ(q[q.inputs[0]].type.quant, (Quantisation{{0.02f}, {130}, 0}));
  EXPECT_EQ(q[q.outputs[0]].type.dtype, DType::u8);
  expect_same_bytes(g, q);
}

TEST(Import, WeightsMayHaveZeroPointsPerChannel) {
  const Graph g = parse(
      "(x: u8[1,1,3,3]) { y = QLinearConv(x, f32[]{0.05}, u8[]{128}, "
      "u8[2,1,2,2]{100,30,200,255,0,100,77,100}, f32[2]{0.02,0.02}, "
      "u8[2]{5,90}, f32[]{0.1}, u8[]{128}) return y }");
  const Graph q = import_quantised(g);
  EXPECT_THAT(operators(q), ElementsAre("Conv"));
  expect_same_bytes(g, q);
}

TEST(Import, QLinearMatMulBecomesMatMulOnCodes) {
  const Graph g = parse(
      "(a: i8[2,3,4]) { y = QLinearMatMul(a, f32[]{0.02}, i8[]{-3}, "
      "i8[4,3]{1,2,3,4,5,6,-7,-8,-9,100,-110,127}, f32[3]{0.1,0.2,0.05}, "
      "i8[3]{0,1,-2}, f32[]{0.1}, i8[]{5}) return y }");
  const Graph q = import_quantised(g);
  EXPECT_THAT(operators(q), ElementsAre("MatMul"));
  expect_same_bytes(g, q);
}

TEST(Import, OperatorsWithTheirOwnScalesAgreeOrStay) {
  // The second convolution claims another scale for the same codes.
  const Graph g = parse(
      "(x: u8[1,1,3,3]) { w = i8[1,1,1,1]{3} a = QLinearConv(x, f32[]{0.05}, u8[]{128}, w, "
      "f32[]{0.02}, i8[]{0}, f32[]{0.1}, u8[]{128}) "
      "y = QLinearConv(a, f32[]{0.2}, u8[]{128}, w, f32[]{0.02}, i8[]{0}, f32[]{0.1}, u8[]{128}) "
      "return y }");
  const Graph q = import_quantised(g);
  EXPECT_THAT(operators(q), testing::Contains("QLinearConv"));
  expect_same_bytes(g, q);
}

constexpr std::string_view codes_to_float = "xd = DequantizeLinear(x, f32[]{0.1}, i8[]{-3}) ";

TEST(Import, MovesAndTablesKeepEveryByte) {
  const Graph g =
      parse(std::string("(x: i8[1,2,4,4]) { ") + std::string(codes_to_float) +
            "m = MaxPool(xd, kernel_shape=[2,2]) mq = QuantizeLinear(m, f32[]{0.1}, i8[]{-3}) "
            "md = DequantizeLinear(mq, f32[]{0.1}, i8[]{-3}) s = Sigmoid(md) sq = "
            "QuantizeLinear(s, f32[]{0.00390625}, i8[]{-128}) "
            "sd = DequantizeLinear(sq, f32[]{0.00390625}, i8[]{-128}) t = Mul(md, sd) y = "
            "QuantizeLinear(t, f32[]{0.07}, i8[]{5}) return y }");
  const Graph q = import_quantised(g);
  EXPECT_THAT(operators(q), ElementsAre("MaxPool", "Sigmoid", "Mul"));
  expect_same_bytes(g, q);
}

TEST(Import, AMoveToAnotherScaleIsRequantisedAfterwards) {
  const Graph g = parse(
      std::string("(x: i8[1,2,4,4]) { ") + std::string(codes_to_float) +
      "m = MaxPool(xd, kernel_shape=[2,2]) y = QuantizeLinear(m, f32[]{0.07}, u8[]{9}) return y }");
  const Graph q = import_quantised(g);
  EXPECT_THAT(operators(q), ElementsAre("MaxPool", "longshore.Requantize"));
  expect_same_bytes(g, q);
}

TEST(Import, DequantizeQuantizeIsNothingOrRequantize) {
  const Graph same = parse(std::string("(x: i8[4]) { ") + std::string(codes_to_float) +
                           "y = QuantizeLinear(xd, f32[]{0.1}, i8[]{-3}) z = DequantizeLinear(y, "
                           "f32[]{0.1}, i8[]{-3}) return z }");
  EXPECT_THAT(operators(import_quantised(same)), ElementsAre("longshore.Dequantize"));
  expect_same_bytes(same, import_quantised(same));
  const Graph other = parse(std::string("(x: i8[4]) { ") + std::string(codes_to_float) +
                            "y = QuantizeLinear(xd, f32[]{0.3}, u8[]{3}) return y }");
  EXPECT_THAT(operators(import_quantised(other)), ElementsAre("longshore.Requantize"));
  expect_same_bytes(other, import_quantised(other));
}

// Scales are powers of two here, so that float computes the convolution exactly and the integer
// form must give the same bytes, ties included.
TEST(Import, ExactConvolutionsKeepEveryByteTiesIncluded) {
  for (std::string_view tail : {"", "Relu", "Clip"}) {
    const std::string act = tail.empty()     ? ""
                            : tail == "Relu" ? "r = Relu(c) "
                                             : "r = Clip(c, f32[]{-1}, f32[]{6}) ";
    const Graph g = parse(
        "(x: i8[1,2,4,4]) { xd = DequantizeLinear(x, f32[]{0.25}, i8[]{3}) "
        "wd = "
        "DequantizeLinear(i8[3,2,3,3]{1,-2,3,4,-5,6,7,8,-9,11,12,13,-14,15,16,-17,18,19,-21,22,23,"
        "24,25,26,27,28,29,-31,32,33,34,35,"
        "-36,37,38,39,41,42,-43,44,45,46,47,48,49,-51,52,53,54,55,56,57,-58,59}, "
        "f32[3]{0.5,0.25,1}, i8[3]{0,0,0}, axis=0) "
        "bd = DequantizeLinear(i32[3]{100,-200,7}, f32[3]{0.125,0.0625,0.25}, axis=0) "
        "c = Conv(xd, wd, bd, pads=[1,1,1,1]) " +
        act + "y = QuantizeLinear(" + (tail.empty() ? "c" : "r") +
        ", f32[]{4}, i8[]{-5}) return y }");
    const Graph q = import_quantised(g);
    EXPECT_THAT(operators(q), ElementsAre(tail.empty() ? "Conv" : "com.microsoft.FusedConv"));
    expect_same_bytes(g, q);
  }
}

TEST(Import, ClampsThatSaturationDoesAlreadyGo) {
  const Graph g = parse(
      "(a: i8[1,4], b: i8[1,4]) { ad = DequantizeLinear(a, f32[]{0.25}, i8[]{3}) bd = "
      "DequantizeLinear(b, f32[]{0.5}, i8[]{1}) "
      "s = Add(ad, bd) r = Relu(s) y = QuantizeLinear(r, f32[]{0.3}, i8[]{-128}) return y }");
  EXPECT_THAT(operators(import_quantised(g)), ElementsAre("Add"));
  expect_same_bytes(g, import_quantised(g));
  const Graph kept = parse(
      "(a: i8[1,4], b: i8[1,4]) { ad = DequantizeLinear(a, f32[]{0.25}, i8[]{3}) bd = "
      "DequantizeLinear(b, f32[]{0.5}, i8[]{1}) "
      "s = Add(ad, bd) r = Clip(s, f32[]{-1}, f32[]{6}) y = QuantizeLinear(r, f32[]{0.3}, i8[]{5}) "
      "return y }");
  EXPECT_THAT(operators(import_quantised(kept)), ElementsAre("Add", "Clip"));
  expect_same_bytes(kept, import_quantised(kept));
}

TEST(Import, UnsignedCodesInsideTheGraphBecomeSigned) {
  const Graph g = parse(
      "(x: f32[1,2,4,4]) { q = QuantizeLinear(x, f32[]{0.1}, u8[]{120}) w = "
      "u8[3,2,1,1]{1,200,30,128,255,0} "
      "a = QLinearConv(q, f32[]{0.1}, u8[]{120}, w, f32[3]{0.1,0.02,0.05}, u8[3]{128,100,128}, "
      "f32[]{0.3}, u8[]{100}) "
      "m = MaxPool(a, kernel_shape=[2,2]) d = DequantizeLinear(m, f32[]{0.3}, u8[]{100}) s = "
      "Sigmoid(d) "
      "p = QuantizeLinear(s, f32[]{0.00390625}, u8[]{0}) y = DequantizeLinear(p, "
      "f32[]{0.00390625}, u8[]{0}) return y }");
  const Graph q = import_quantised(g);
  EXPECT_THAT(operators(q), ElementsAre("longshore.Quantize", "Conv", "MaxPool", "Sigmoid",
                                        "longshore.Dequantize"));
  for (const Value& v : q.values) EXPECT_NE(v.type.dtype, DType::u8) << v.name;
  expect_same_bytes(g, q);
}

TEST(Import, MovesOfUnsignedOutputsKeepTheirType) {
  const Graph g = parse(
      "(x: f32[1,2,4,4]) { q = QuantizeLinear(x, f32[]{0.1}, u8[]{120}) m = MaxPool(q, "
      "kernel_shape=[2,2]) return m }");
  const Graph q = import_quantised(g);
  EXPECT_EQ(q[q.outputs[0]].type.dtype, DType::u8);
  expect_same_bytes(g, q);
}

TEST(Import, APadWithACodeStaysAsItIs) {
  const Graph g = parse(
      "(x: f32[1,4]) { q = QuantizeLinear(x, f32[]{0.1}, u8[]{120}) p = Pad(q, i64[4]{0,1,0,1}, "
      "u8[]{7}) "
      "y = DequantizeLinear(p, f32[]{0.1}, u8[]{120}) return y }");
  expect_same_bytes(g, import_quantised(g));
}

TEST(Import, WhatIsNotConstantStays) {
  const Graph g = parse(
      "(x: f32[4], s: f32[]) { q = QuantizeLinear(x, s, u8[]{3}) y = DequantizeLinear(q, s, "
      "u8[]{3}) return y }");
  EXPECT_THAT(operators(import_quantised(g)), ElementsAre("QuantizeLinear", "DequantizeLinear"));
}

TEST(Import, CodesThatOthersReadStayAsTheyAre) {
  const Graph g = parse(
      "(x: i8[4]) { d = DequantizeLinear(x, f32[]{0.1}, i8[]{-3}) c = Cast(x, to=6) return d, c }");
  const Graph q = import_quantised(g);
  EXPECT_THAT(operators(q), testing::Contains("DequantizeLinear"));
  expect_same_bytes(g, q);
}

TEST(Import, FloatGraphsComeBackUnchanged) {
  const Graph g =
      parse("(x: f32[1,2,4,4]) { c = Conv(x, f32[2,2,1,1]{0.3}) y = Relu(c) return y }");
  EXPECT_TRUE(import_quantised(g) == g);
}

}  // namespace
}  // namespace longshore::tests::quantize_import_test
