// The traps of the mathematical operators: values by hand, from the definition, or from a plain
// loop that shares no code with the operator.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "base/error.hpp"
#include "ir/op.hpp"
#include "random.hpp"
#include "tensor/small_float.hpp"

namespace longshore::tests::ops_math_test {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN(),
                infinity = std::numeric_limits<float>::infinity();

Tensor floats(const Shape& shape, std::initializer_list<float> values) {
  return make_floats(shape, std::span(values.begin(), values.size()));
}
template <class T>
Tensor tensor(DType dtype, const Shape& shape, std::initializer_list<T> values) {
  return make_tensor<T>(dtype, shape, std::span(values.begin(), values.size()));
}
std::vector<Tensor> run(std::string_view text, std::vector<Tensor> inputs = {}) {
  return evaluate(parse(text), inputs);
}

/// Equal as numbers; NaN equals NaN.
template <class T>
void expect_values(const Tensor& t, const std::vector<T>& want) {
  const std::span<const T> got = t.values<T>();
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); i++) {
    if (want[i] != want[i])
      EXPECT_NE(got[i], got[i]) << "element " << i;
    else
      EXPECT_EQ(got[i], want[i]) << "element " << i;
  }
}
Code error_of(std::string_view text, std::vector<Tensor> inputs = {}) {
  try {
    run(text, std::move(inputs));
  } catch (const Error& e) {
    return e.code();
  }
  return Code::ok;
}

// ---- NaN
TEST(OpsMath, NaNComesThroughMaxMinClipRelu) {
  const std::vector<Tensor> in = {floats(Shape{3}, {nan, 1, nan}), floats(Shape{3}, {2, nan, nan})};
  for (std::string_view op : {"Max", "Min"})
    expect_values<float>(run(str("(a: f32[3], b: f32[3]) { y = ", op, "(a, b) return y }"), in)[0],
                         {nan, nan, nan});
  expect_values<float>(
      run("(a: f32[3]) { y = Clip(a, f32[]{0}, f32[]{0.5}) return y }", {in[0]})[0],
      {nan, 0.5f, nan});
  expect_values<float>(run("(a: f32[3]) { y = Relu(a) return y }", {in[0]})[0], {nan, 1, nan});
  expect_values<float>(run("(a: f32[3]) { y = ThresholdedRelu(a) return y }", {in[0]})[0],
                       {nan, 0, nan});
  expect_values<float>(run("(a: f32[3]) { y = Sign(a) return y }", {in[0]})[0], {nan, 1, nan});
}

TEST(OpsMath, NaNComesThroughReductions) {
  const Tensor x = floats(Shape{2, 3}, {1, nan, 3, 4, 5, 6});
  for (std::string_view op : {"ReduceMax", "ReduceMin", "ReduceSum", "ReduceLogSumExp"}) {
    const Tensor y =
        run(str("(x: f32[2,3]) { y = ", op, "(x, i64[1]{1}, keepdims=0) return y }"), {x})[0];
    EXPECT_TRUE(std::isnan(y.values<float>()[0])) << op;
    EXPECT_FALSE(std::isnan(y.values<float>()[1])) << op;
  }
  expect_values<std::int64_t>(
      run("(x: f32[2,3]) { y = ArgMax(x, axis=1, keepdims=0) return y }", {x})[0], {1, 2});
  expect_values<std::int64_t>(
      run("(x: f32[2,3]) { y = ArgMin(x, axis=1, keepdims=0) return y }", {x})[0], {1, 0});
}

TEST(OpsMath, TopKPutsNaNFirstAndTiesInOrder) {
  const Tensor x = floats(Shape{5}, {1, nan, 3, 3, 2});
  auto y = run("(x: f32[5]) { v, i = TopK(x, i64[1]{4}) return v, i }", {x});
  expect_values<float>(y[0], {nan, 3, 3, 2});
  expect_values<std::int64_t>(y[1], {1, 2, 3, 4});
  y = run("(x: f32[5]) { v, i = TopK(x, i64[1]{3}, largest=0) return v, i }", {x});
  expect_values<float>(y[0], {nan, 1, 2});
  const Tensor bytes = tensor<std::uint8_t>(DType::u8, Shape{3}, {0, 255, 255});  // onnx/onnx#3501
  y = run("(x: u8[3]) { v, i = TopK(x, i64[1]{2}) return v, i }", {bytes});
  expect_values<std::uint8_t>(y[0], {255, 255});
  expect_values<std::int64_t>(y[1], {1, 2});
}

// ---- conversions
TEST(OpsMath, CastToIntegersSaturates) {  // apache/tvm#19542
  const Tensor x = floats(Shape{6}, {300, nan, infinity, -infinity, 50.9f, -50.9f});
  expect_values<std::int8_t>(run("(x: f32[6]) { y = Cast(x, to=3) return y }", {x})[0],
                             {127, 0, 127, -128, 50, -50});
  expect_values<std::uint8_t>(run("(x: f32[6]) { y = Cast(x, to=2) return y }", {x})[0],
                              {255, 0, 255, 0, 50, 0});
  expect_values<std::int32_t>(run("(x: f32[6]) { y = Cast(x, to=6) return y }", {x})[0],
                              {300, 0, INT32_MAX, INT32_MIN, 50, -50});
  expect_values<std::int64_t>(run("(x: f32[6]) { y = Cast(x, to=7) return y }", {x})[0],
                              {300, 0, INT64_MAX, INT64_MIN, 50, -50});
  expect_values<std::uint64_t>(run("(x: f32[6]) { y = Cast(x, to=13) return y }", {x})[0],
                               {300, 0, UINT64_MAX, 0, 50, 0});
}

TEST(OpsMath, CastIsTheSameInConstantFolding) {
  const Graph g = parse(
      "(z: i8[6]) { a = f32[6]{300, nan, inf, -inf, 50.9, -50.9} b = Cast(a, to=3) y = Add(b, z) "
      "return y }");
  const Tensor zero = tensor<std::int8_t>(DType::i8, Shape{6}, {0, 0, 0, 0, 0, 0});
  expect_values<std::int8_t>(evaluate(g, std::vector{zero})[0], {127, 0, 127, -128, 50, -50});
}

TEST(OpsMath, CastOfIntegersKeepsTheLowBits) {
  const Tensor x = tensor<std::int16_t>(DType::i16, Shape{4}, {200, -1, 256, -200});
  expect_values<std::int8_t>(run("(x: i16[4]) { y = Cast(x, to=3) return y }", {x})[0],
                             {-56, -1, 0, 56});
  expect_values<std::uint64_t>(run("(x: i16[4]) { y = Cast(x, to=13) return y }", {x})[0],
                               {200, UINT64_MAX, 256, UINT64_MAX - 199});
  const Tensor large =
      tensor<std::int64_t>(DType::i64, Shape{2}, {(std::int64_t{1} << 53) + 1, INT64_MAX});
  expect_values<std::int64_t>(run("(x: i64[2]) { y = Cast(x, to=7) return y }", {large})[0],
                              {(std::int64_t{1} << 53) + 1, INT64_MAX});
}

TEST(OpsMath, CastToFloat8SaturatesOrNot) {
  const Tensor x = floats(Shape{4}, {1e6f, -infinity, nan, 0.4375f});
  // e4m3fn: 448 is 0x7e, NaN 0x7f, 0.4375 = 1.75 * 2^-2 is exponent 5, mantissa 6.
  expect_values<std::uint8_t>(run("(x: f32[4]) { y = Cast(x, to=17) return y }", {x})[0],
                              {0x7e, 0xfe, 0x7f, 0x2e});
  expect_values<std::uint8_t>(
      run("(x: f32[4]) { y = Cast(x, to=17, saturate=0) return y }", {x})[0],
      {0x7f, 0xff, 0x7f, 0x2e});
  // e5m2 has infinities: 0x7c.
  expect_values<std::uint8_t>(
      run("(x: f32[4]) { y = Cast(x, to=19, saturate=0) return y }", {x})[0],
      {0x7c, 0xfc, 0x7e, 0x37});
}

TEST(OpsMath, RoundGoesToTheEvenHalf) {
  expect_values<float>(
      run("() { y = Round(f32[8]{-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.49999997, nan}) return y }")[0],
      {-2, -2, -0.0f, 0, 2, 2, 0, nan});
}

// ---- integers
TEST(OpsMath, IntegerDivisionReportsWhatHasNoAnswer) {  // apache/tvm#19541
  const Tensor a = tensor<std::int32_t>(DType::i32, Shape{4}, {1, 2, 3, 4});
  const Tensor b = tensor<std::int32_t>(DType::i32, Shape{4}, {1, 0, 3, 0});
  const Tensor low = tensor<std::int32_t>(DType::i32, Shape{4}, {INT32_MIN, 1, 1, 1});
  const Tensor minus = tensor<std::int32_t>(DType::i32, Shape{4}, {-1, 1, 1, 1});
  for (std::string_view op : {"Div", "Mod"}) {
    const std::string text = str("(a: i32[4], b: i32[4]) { y = ", op, "(a, b) return y }");
    EXPECT_EQ(error_of(text, {a, b}), Code::arithmetic) << op;
    EXPECT_EQ(error_of(text, {low, minus}), op == "Div" ? Code::arithmetic : Code::ok) << op;
    EXPECT_EQ(error_of(text, {minus, a}), Code::ok) << op;
  }
  EXPECT_EQ(error_of("(a: i32[2,0]) { y = ReduceMean(a, i64[1]{1}) return y }",
                     {tensor<std::int32_t>(DType::i32, Shape{2, 0}, {})}),
            Code::arithmetic);
  EXPECT_EQ(error_of("() { y = Pow(i32[1]{0}, i32[1]{-1}) return y }"), Code::arithmetic);
  expect_values<std::int32_t>(
      run("() { y = Div(i32[4]{7, -7, 7, -7}, i32[4]{2, 2, -2, -2}) return y }")[0],
      {3, -3, -3, 3});
}

TEST(OpsMath, ModTakesItsSignFromDivisorOrDividend) {
  const std::string operands = "(i32[6]{-4, 7, 5, 4, -7, 8}, i32[6]{2, -3, 8, -2, 3, 5}";
  expect_values<std::int32_t>(run("() { y = Mod" + operands + ") return y }")[0],
                              {0, -2, 5, 0, 2, 3});
  expect_values<std::int32_t>(run("() { y = Mod" + operands + ", fmod=1) return y }")[0],
                              {0, 1, 5, 0, -1, 3});
  expect_values<float>(run("() { y = Mod(f32[2]{-4.5, 7.5}, f32[2]{2, -3}, fmod=1) return y }")[0],
                       {-0.5f, 1.5f});
  EXPECT_EQ(error_of("() { y = Mod(f32[1]{1}, f32[1]{1}) return y }"), Code::bad_model);
}

TEST(OpsMath, IntegersWrapAround) {
  expect_values<std::int32_t>(
      run("() { y = Add(i32[2]{2147483647, -2147483648}, i32[2]{1, -1}) return y }")[0],
      {INT32_MIN, INT32_MAX});
  expect_values<std::int32_t>(run("() { y = Mul(i32[1]{65536}, i32[1]{65536}) return y }")[0], {0});
  expect_values<std::int8_t>(run("() { y = Neg(i8[2]{-128, 5}) return y }")[0], {-128, -5});
  expect_values<std::int64_t>(run("() { y = Abs(i64[1]{-9223372036854775808}) return y }")[0],
                              {INT64_MIN});
  expect_values<std::uint8_t>(
      run("() { y = BitShift(u8[3]{255, 1, 1}, u8[3]{1, 7, 8}, direction=\"LEFT\") return y }")[0],
      {254, 128, 0});
}

TEST(OpsMath, ClipTakesOneBoundAlone) {  // ROCm/AMDMIGraphX#455
  expect_values<float>(run("() { y = Clip(f32[3]{-3, 0.5, 9}, _, f32[]{6}) return y }")[0],
                       {-3, 0.5f, 6});
  expect_values<float>(run("() { y = Clip(f32[3]{-3, 0.5, 9}, f32[]{5}, f32[]{2}) return y }")[0],
                       {2, 2, 2});
}

// ---- reductions and softmax
// Whichever input has the highest rank: sums of small integers do not depend on the order.
TEST(OpsMath, VariadicOperatorsBroadcastOverAllInputs) {
  std::map<std::string, Tensor> values = {{"a", floats({}, {2})},
                                          {"b", floats({3}, {1, 5, -3})},
                                          {"c", floats({2, 1}, {4, -1})},
                                          {"d", floats({2, 1, 3}, {0, 1, 2, 3, 4, 9})}};
  for (const char* op : {"Max", "Min", "Sum", "Mean"}) {
    std::vector<std::string> order = {"a", "b", "c", "d"};
    std::optional<Tensor> first;
    do {
      const std::string call =
          std::string(op) + "(" + order[0] + "," + order[1] + "," + order[2] + "," + order[3] + ")";
      const Tensor y =
          run("(a: f32[], b: f32[3], c: f32[2,1], d: f32[2,1,3]) { y = " + call + " return y }",
              {values["a"], values["b"], values["c"], values["d"]})[0];
      if (!first) first = y;
      EXPECT_EQ(y.shape, (Shape{2, 2, 3})) << call;
      EXPECT_EQ(y, *first) << call;
    } while (std::ranges::next_permutation(order).found);
  }
  expect_values<float>(run("(a: f32[], b: f32[3], c: f32[2,1]) { y = Max(a, b, c) return y }",
                           {values["a"], values["b"], values["c"]})[0],
                       {4, 5, 4, 2, 5, 2});
}

TEST(OpsMath, AConditionMayHaveTheHighestRank) {
  const Tensor yes = tensor<Bool8>(DType::boolean, {2, 1}, {Bool8(true), Bool8(false)});
  expect_values<float>(run("(c: bool[2,1], a: f32[], b: f32[2]) { y = Where(c, a, b) return y }",
                           {yes, floats({}, {7}), floats({2}, {1, 2})})[0],
                       {7, 7, 1, 2});
}

TEST(OpsMath, TheMeanOfNoPixelsIsNaN) {
  for (const char* op : {"GlobalAveragePool(x)", "ReduceMean(x, i64[2]{2, 3})"})
    expect_values<float>(run(std::string("(x: f32[1,2,0,3]) { y = ") + op + " return y }",
                             {floats({1, 2, 0, 3}, {})})[0],
                         {nan, nan});
}

TEST(OpsMath, ReductionsOfNothing) {
  const Tensor x = floats(Shape{2, 0}, {});
  const auto of = [&](std::string_view op) {
    return run(str("(x: f32[2,0]) { y = ", op, "(x, i64[1]{1}, keepdims=0) return y }"), {x})[0];
  };
  expect_values<float>(of("ReduceSum"), {0, 0});
  expect_values<float>(of("ReduceProd"), {1, 1});
  expect_values<float>(of("ReduceMax"), {-infinity, -infinity});
  expect_values<float>(of("ReduceMin"), {infinity, infinity});
  expect_values<float>(of("ReduceLogSum"), {-infinity, -infinity});
  expect_values<float>(of("ReduceLogSumExp"), {-infinity, -infinity});
  expect_values<float>(of("ReduceMean"), {nan, nan});
  const Tensor bytes = tensor<std::int8_t>(DType::i8, Shape{0}, {});
  expect_values<std::int8_t>(
      run("(x: i8[0]) { y = ReduceMax(x, keepdims=0) return y }", {bytes})[0], {-128});
}

TEST(OpsMath, EachReductionIsItsOwn) {
  const Tensor x = floats(Shape{3}, {1, -2, 4});
  const auto of = [&](std::string_view op) {
    return run(str("(x: f32[3]) { y = ", op, "(x, keepdims=0) return y }"), {x})[0]
        .values<float>()[0];
  };
  EXPECT_EQ(of("ReduceSum"), 3);
  EXPECT_EQ(of("ReduceMean"), 1);
  EXPECT_EQ(of("ReduceMax"), 4);
  EXPECT_EQ(of("ReduceMin"), -2);
  EXPECT_EQ(of("ReduceProd"), -8);
  EXPECT_EQ(of("ReduceL1"), 7);
  EXPECT_EQ(of("ReduceSumSquare"), 21);
  EXPECT_FLOAT_EQ(of("ReduceL2"), std::sqrt(21.0f));
  EXPECT_FLOAT_EQ(of("ReduceLogSum"), std::log(3.0f));
  EXPECT_FLOAT_EQ(of("ReduceLogSumExp"),
                  std::log(std::exp(1.0f) + std::exp(-2.0f) + std::exp(4.0f)));
}

TEST(OpsMath, NoAxesMayMeanNoReduction) {  // microsoft/onnxruntime#19147
  const Tensor x = floats(Shape{3, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  for (std::string_view keep : {"", ", keepdims=0"}) {
    const Tensor y =
        run(str("(x: f32[3,2,2]) { y = ReduceSum(x, noop_with_empty_axes=1", keep, ") return y }"),
            {x})[0];
    EXPECT_EQ(y, x);
  }
}

TEST(OpsMath, LogSumExpDoesNotOverflow) {
  const Tensor y = run("() { y = ReduceLogSumExp(f32[2]{1000, 1000}, keepdims=0) return y }")[0];
  EXPECT_FLOAT_EQ(y.values<float>()[0], 1000 + std::log(2.0f));
  const Tensor s = run("() { y = Softmax(f32[3]{1000, 999, -inf}) return y }")[0];
  EXPECT_FLOAT_EQ(s.values<float>()[0], 1 / (1 + std::exp(-1.0f)));
  EXPECT_EQ(s.values<float>()[2], 0);
}

TEST(OpsMath, LayerNormalizationOfAConstantRowIsTheBias) {  // microsoft/onnxruntime#21935
  const Tensor y =
      run("(b: f32[256]) { x = f32[1,256]{1234} s = f32[256]{1} y = LayerNormalization(x, s, b) "
          "return y }",
          {make_floats(Shape{256}, std::vector<float>(256, 0.25f))})[0];
  for (float v : y.values<float>()) EXPECT_EQ(v, 0.25f);
}

TEST(OpsMath, EinsumOfOneOperand) {  // microsoft/onnxruntime#18654
  std::vector<float> x(24);
  for (std::size_t i = 0; i < x.size(); i++) x[i] = static_cast<float>(i);
  const Tensor y = run("(x: f32[2,3,4]) { y = Einsum(x, equation=\"ijk->ki\") return y }",
                       {make_floats(Shape{2, 3, 4}, x)})[0];
  EXPECT_EQ(y.shape, (Shape{4, 2}));
  expect_values<float>(y, {12, 48, 15, 51, 18, 54, 21, 57});
  expect_values<float>(run("() { y = Einsum(f32[2,2]{1, 2, 3, 4}, equation=\"ii\") return y }")[0],
                       {5});
  EXPECT_EQ(error_of("(a: f32[2,3]) { y = Einsum(a, equation=\"ijk->i\") return y }",
                     {floats(Shape{2, 3}, {1, 2, 3, 4, 5, 6})}),
            Code::bad_model);
}

TEST(OpsMath, HalfTypesSumInFloat) {
  const Tensor y =
      run("() { x = f16[4096]{1} y = ReduceSum(x, keepdims=0) z = Cast(y, to=1) return z }")[0];
  expect_values<float>(y, {4096});  // adding in f16 would stop at 2048
}

// ---- quantisation
TEST(OpsMath, QuantizeLinearRoundsHalvesToEven) {  // sonos/tract#2850
  expect_values<std::int8_t>(run("() { y = QuantizeLinear(f32[6]{0.25, 0.75, 1.25, 1.75, -0.25, "
                                 "-0.75}, f32[]{0.5}, i8[]{0}) return y }")[0],
                             {0, 2, 2, 4, 0, -2});
  expect_values<std::uint8_t>(
      run("() { y = QuantizeLinear(f32[4]{1e9, -1e9, nan, inf}, f32[]{0.5}, u8[]{7}) return y }")
          [0],
      {255, 0, 7, 255});
}

TEST(OpsMath, BlockedScalesFollowTheirBlock) {
  // Two rows; blocks of 2 along axis 1, the last one short.
  expect_values<float>(run("() { y = DequantizeLinear(i8[2,3]{1, 2, 3, 4, 5, 6}, f32[2,2]{1, 10, "
                           "100, 1000}, block_size=2) return y }")[0],
                       {1, 2, 30, 400, 500, 6000});
  expect_values<float>(run("() { y = DequantizeLinear(i8[3,2]{1, 2, 3, 4, 5, 6}, f32[2,2]{1, 10, "
                           "100, 1000}, axis=0, block_size=2) return y }")[0],
                       {1, 20, 3, 40, 500, 6000});
}

TEST(OpsMath, QuantizeAndDequantizeLinearOfManyElements) {  // more than one block of conversion
  std::vector<float> x(1000);
  for (std::size_t i = 0; i < x.size(); i++) x[i] = static_cast<float>(i) * 0.37f - 150;
  const auto y =
      run("(x: f32[10,100]) { s = f32[10]{0.5, 1, 2, 3, 4, 5, 6, 7, 8, 9} z = u8[10]{0, 1, 2, 3, "
          "4, 5, 6, 7, 8, 9} "
          "q = QuantizeLinear(x, s, z, axis=0) y = DequantizeLinear(q, s, z, axis=0) return q, y }",
          {make_floats(Shape{10, 100}, x)});
  for (std::size_t i = 0; i < x.size(); i++) {
    const std::size_t row = i / 100;
    const float scale = row == 0 ? 0.5f : static_cast<float>(row), zero = static_cast<float>(row);
    const float code = std::fmin(std::fmax(std::nearbyint(x[i] / scale) + zero, 0), 255);
    ASSERT_EQ(y[0].values<std::uint8_t>()[i], code) << i;
    ASSERT_EQ(y[1].values<float>()[i], (code - zero) * scale) << i;
  }
}

TEST(OpsMath, MatMulIntegerDoesNotSaturate) {  // microsoft/onnxruntime#6004
  expect_values<std::int32_t>(
      run("() { y = MatMulInteger(u8[1,2]{255, 255}, i8[2,1]{127, 127}) return y }")[0], {64770});
}

__extension__ using Wide = __int128;

/// The contract of requantisation in the wide and slow: exact integers and doubles.
std::int32_t exact_requantise(std::int32_t acc, float sx, float sw, float sy, std::int32_t zero,
                              std::int32_t lowest, std::int32_t highest, Rounding mode) {
  const auto half_even = [](double v) {
    const double below = std::floor(v), rest = v - below;
    if (rest != 0.5) return rest < 0.5 ? below : below + 1;
    return std::fmod(below, 2) == 0 ? below : below + 1;
  };
  if (mode == Rounding::f32_even) {
    const float m = (sx * sw) / sy;
    const float product = static_cast<float>(acc) * m;  // one float rounding
    const double y = half_even(static_cast<double>(product)) + zero;
    return static_cast<std::int32_t>(std::fmin(std::fmax(y, lowest), highest));
  }
  // real = q / 2^31 * 2^exponent with 2^30 <= q < 2^31.
  const double real = static_cast<double>(sx) * static_cast<double>(sw) / static_cast<double>(sy);
  int exponent = 0;
  double fraction = real;
  for (; fraction >= 1; exponent++) fraction /= 2;
  for (; fraction < 0.5; exponent--) fraction *= 2;
  Wide q = static_cast<Wide>(std::floor(fraction * 2147483648.0 + 0.5));
  if (q == (Wide{1} << 31)) q /= 2, exponent++;
  const auto floor_divide = [](Wide a, Wide b) { return a >= 0 ? a / b : -((-a + b - 1) / b); };
  Wide y = 0;
  if (mode == Rounding::fixed31_single) {  // floor(acc * q / 2^(31 - exponent) + 1/2)
    const Wide unit = Wide{1} << (31 - exponent);
    y = floor_divide(acc * q * 2 + unit, unit * 2);
  } else {
    Wide left = acc;
    if (exponent > 0) left *= Wide{1} << exponent;
    if (left > INT32_MAX) left = INT32_MAX;
    if (left < INT32_MIN) left = INT32_MIN;
    // Half away from zero, except that a negative half goes up.
    const Wide unit = Wide{1} << 31, product = left * q;
    Wide high = product >= 0 ? (product + unit / 2) / unit : -((-product + unit / 2 - 1) / unit);
    if (exponent < 0) {  // half away from zero
      const Wide divisor = Wide{1} << -exponent;
      high = high >= 0 ? (high + divisor / 2) / divisor : -((-high + divisor / 2) / divisor);
    }
    y = high;
  }
  y += zero;
  return static_cast<std::int32_t>(y < lowest ? lowest : y > highest ? highest : y);
}

TEST(Requantise, EqualsWideArithmeticInEveryMode) {
  std::mt19937 rng(seed());
  std::uniform_real_distribution<float> exponent(-9, 4);
  for (Rounding mode : {Rounding::f32_even, Rounding::fixed31_single, Rounding::fixed31_double}) {
    for (int scales = 0; scales < 60; scales++) {
      float sx = std::exp2(exponent(rng)), sw = std::exp2(exponent(rng) - 6),
            sy = std::exp2(exponent(rng));
      if (scales < 8) sx = 1, sw = std::exp2(static_cast<float>(-scales)), sy = 1;  // halves occur
      const Multiplier m = make_multiplier(sx, sw, sy);
      const auto zero = static_cast<std::int32_t>(rng() % 256) - 128;
      const auto compare = [&](std::int32_t acc) {
        const std::int32_t got = requantise(acc, m, zero, -128, 127, mode);
        const std::int32_t want = exact_requantise(acc, sx, sw, sy, zero, -128, 127, mode);
        ASSERT_EQ(got, want) << "acc " << acc << " scales " << sx << " " << sw << " " << sy
                             << " zero " << zero << " mode " << static_cast<int>(mode);
      };
      for (std::int32_t acc = -20000; acc <= 20000; acc++) compare(acc);
      for (int i = 0; i < 2000; i++) compare(static_cast<std::int32_t>(rng()));
      for (std::int32_t acc : {INT32_MIN, INT32_MIN + 1, INT32_MAX, INT32_MAX - 1}) compare(acc);
      if (HasFatalFailure()) return;
    }
  }
}

/// A product of codes as the definition has it: one sum, in 64 bits, for each output.
TEST(OpsMath, QuantisedGemmEqualsAPlainLoop) {
  std::mt19937 rng(seed());
  constexpr std::int64_t m = 3, k = 70, n = 5;
  const auto codes = [&](const Shape& shape, int lowest, int highest) {
    std::vector<std::int8_t> values(static_cast<std::size_t>(shape.elements()));
    for (std::int8_t& v : values)
      v = static_cast<std::int8_t>(
          lowest + static_cast<int>(rng() % static_cast<unsigned>(highest - lowest + 1)));
    return make_tensor<std::int8_t>(DType::i8, shape, values);
  };
  const float sx = 0.05f, sy = 0.7f, sw[n] = {0.01f, 0.02f, 0.015f, 0.03f, 0.005f};
  const std::int32_t zx = -7, zy = 11;
  for (Rounding mode : {Rounding::f32_even, Rounding::fixed31_single, Rounding::fixed31_double})
    for (const char* activation : {"", "Relu", "Clip"}) {
      Graph g;
      g.numbers = mode;
      TensorType tx(DType::i8, Shape{m, k}), tw(DType::i8, Shape{n, k}), tb(DType::i32, Shape{n}),
          ty(DType::i8, Shape{m, n});
      tx.quant = {{sx}, {zx}, 0};
      tw.quant = {{sw, sw + n}, std::vector<std::int32_t>(n), 0};
      ty.quant = {{sy}, {zy}, 0};
      std::vector<float> sb;
      for (float s : sw) sb.push_back(sx * s);
      tb.quant = {sb, std::vector<std::int32_t>(n), 0};
      const ValueId x = g.add_input("x", tx), w = g.add_input("w", tw), b = g.add_input("b", tb);
      Node node;
      node.op = &op_named(*activation ? "com.microsoft.FusedGemm" : "Gemm");
      node.inputs = {x, w, b};
      node.attributes.set("transB", std::int64_t{1});
      if (*activation) node.attributes.set("activation", std::string(activation));
      if (*activation == 'C') node.attributes.set("activation_params", Reals{-3.0f, 6.0f});
      const ValueId y = g.add_value("y", ty);
      node.outputs = {y};
      g.add_node(node, 0);
      g.outputs = {y};
      const Tensor tensors[] = {codes(Shape{m, k}, -128, 127), codes(Shape{n, k}, -127, 127),
                                tensor<std::int32_t>(DType::i32, Shape{n}, {100, -2000, 0, 31, 7})};
      const Tensor got = evaluate(infer(g), tensors)[0];
      for (std::int64_t i = 0; i < m; i++)
        for (std::int64_t j = 0; j < n; j++) {
          std::int64_t sum = tensors[2].values<std::int32_t>()[static_cast<std::size_t>(j)];
          for (std::int64_t t = 0; t < k; t++)
            sum += (tensors[0].values<std::int8_t>()[static_cast<std::size_t>(i * k + t)] - zx) *
                   tensors[1].values<std::int8_t>()[static_cast<std::size_t>(j * k + t)];
          std::int32_t lowest = -128, highest = 127;
          if (*activation == 'R') lowest = zy;
          if (*activation == 'C')
            lowest = 11 - 4, highest = 11 + 9;  // -3 / 0.7 and 6 / 0.7, rounded
          EXPECT_EQ(got.values<std::int8_t>()[static_cast<std::size_t>(i * n + j)],
                    exact_requantise(static_cast<std::int32_t>(sum), sx, sw[j], sy, zy, lowest,
                                     highest, mode))
              << i << "," << j << " " << activation;
        }
    }
}

}  // namespace
}  // namespace longshore::tests::ops_math_test
