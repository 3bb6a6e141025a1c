// Operators of structure and windows against values worked out by hand, values of ONNX Runtime
// 1.32 (marked), and independent loops.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "base/error.hpp"
#include "ir/op.hpp"
#include "random.hpp"

namespace longshore::tests::ops_struct_test {
namespace {

using Floats = std::vector<float>;

Tensor floats(const Shape& shape, const Floats& values) { return make_floats(shape, values); }
/// first, first + step, ...
Tensor ramp(const Shape& shape, float first = 0, float step = 1) {
  Floats values;
  for (std::int64_t i = 0; i < shape.elements(); i++)
    values.push_back(first + step * static_cast<float>(i));
  return floats(shape, values);
}
std::vector<Tensor> run(std::string_view text, const std::vector<Tensor>& in = {}) {
  return evaluate(parse(text), in);
}

void expect_floats(const Tensor& got, const Shape& shape, const Floats& want,
                   float tolerance = 1e-5f) {
  ASSERT_TRUE(got.shape == shape) << print(TensorType(got.dtype, got.shape));
  for (std::size_t i = 0; i < want.size(); i++)
    EXPECT_NEAR(got.values<float>()[i], want[i], tolerance) << "element " << i;
}
void expect_ints(const Tensor& got, const Shape& shape, const Ints& want) {
  ASSERT_TRUE(got.shape == shape) << print(TensorType(got.dtype, got.shape));
  for (std::size_t i = 0; i < want.size(); i++)
    EXPECT_EQ(got.values<std::int64_t>()[i], want[i]) << "element " << i;
}
void expect_failure(std::string_view text, const std::vector<Tensor>& in, std::string_view part) {
  try {
    run(text, in);
    FAIL() << "no error from " << text;
  } catch (const Error& e) {
    EXPECT_NE(std::string_view(e.what()).find(part), std::string_view::npos) << e.what();
    EXPECT_NE(e.code(), Code::internal) << e.what();
  }
}

// ---- convolution

/// Dims of one random 2-D convolution.
struct Case {
  int n, groups, group_in, group_out, h, w, kh, kw, sh, sw, dh, dw, top, left, bottom, right;
  int out_h() const { return (h + top + bottom - (kh - 1) * dh - 1) / sh + 1; }
  int out_w() const { return (w + left + right - (kw - 1) * dw - 1) / sw + 1; }
};
Case random_case(std::mt19937& rng) {
  const auto pick = [&](int low, int high) {
    return low + static_cast<int>(rng() % static_cast<unsigned>(high - low + 1));
  };
  Case c{pick(1, 2), pick(1, 3), pick(1, 3), pick(1, 3), pick(4, 9), pick(4, 9),
         pick(1, 3), pick(1, 3), pick(1, 3), pick(1, 3), pick(1, 2), pick(1, 2),
         pick(0, 2), pick(0, 2), pick(0, 2), pick(0, 2)};
  if (c.h + c.top + c.bottom < (c.kh - 1) * c.dh + 1) c.h += c.kh * c.dh;
  if (c.w + c.left + c.right < (c.kw - 1) * c.dw + 1) c.w += c.kw * c.dw;
  return c;
}
std::string attributes(const Case& c) {
  return str("group=", c.groups, ", strides=[", c.sh, ",", c.sw, "], dilations=[", c.dh, ",", c.dw,
             "], pads=[", c.top, ",", c.left, ",", c.bottom, ",", c.right, "]");
}
std::string dims(std::initializer_list<int> d) {
  std::string out = "[";
  for (int i : d) out += (out.size() > 1 ? "," : "") + std::to_string(i);
  return out + "]";
}

/// The definition: seven loops, x(n,c,h,w) and w(m,c,kh,kw) as callables.
template <class A, class X, class W>
std::vector<A> naive(const Case& c, X&& x, W&& w) {
  std::vector<A> y;
  for (int n = 0; n < c.n; n++)
    for (int m = 0; m < c.groups * c.group_out; m++)
      for (int oh = 0; oh < c.out_h(); oh++)
        for (int ow = 0; ow < c.out_w(); ow++) {
          A sum = 0;
          for (int k = 0; k < c.group_in; k++)
            for (int i = 0; i < c.kh; i++)
              for (int j = 0; j < c.kw; j++) {
                const int h = oh * c.sh - c.top + i * c.dh, v = ow * c.sw - c.left + j * c.dw;
                if (h < 0 || h >= c.h || v < 0 || v >= c.w) continue;
                const int channel = m / c.group_out * c.group_in + k;
                sum += x(((n * c.groups * c.group_in + channel) * c.h + h) * c.w + v) *
                       w(((m * c.group_in + k) * c.kh + i) * c.kw + j);
              }
          y.push_back(sum);
        }
  return y;
}

TEST(Conv, EqualsSevenLoops) {
  std::mt19937 rng(seed());
  for (int round = 0; round < 60; round++) {
    const Case c = random_case(rng);
    const int channels = c.groups * c.group_in, outputs = c.groups * c.group_out;
    const std::string text = str("(x: f32", dims({c.n, channels, c.h, c.w}), ", w: f32",
                                 dims({outputs, c.group_in, c.kh, c.kw}), ", b: f32[", outputs,
                                 "]) { y = Conv(x, w, b, ", attributes(c), ") return y }");
    const Graph g = parse(text);
    const std::vector<Tensor> in = random_inputs(g, rng());
    const std::vector<double> want = naive<double>(
        c,
        [&](int i) {
          return static_cast<double>(in[0].values<float>()[static_cast<std::size_t>(i)]);
        },
        [&](int i) {
          return static_cast<double>(in[1].values<float>()[static_cast<std::size_t>(i)]);
        });
    const Tensor got = evaluate(g, in)[0];
    ASSERT_EQ(static_cast<std::size_t>(got.elements()), want.size()) << text;
    const std::size_t plane = static_cast<std::size_t>(c.out_h() * c.out_w());
    for (std::size_t i = 0; i < want.size(); i++)
      ASSERT_NEAR(
          got.values<float>()[i],
          want[i] + static_cast<double>(
                        in[2].values<float>()[i / plane % static_cast<std::size_t>(outputs)]),
          1e-3)
          << text;
  }
}

// The contract in double: float multiplier, clamp, round half to even, zero point.
TEST(Conv, QuantisedEqualsAnIndependentLoop) {
  std::mt19937 rng(seed());
  for (int round = 0; round < 60; round++) {
    const Case c = random_case(rng);
    const int channels = c.groups * c.group_in, outputs = c.groups * c.group_out;
    const int zx = static_cast<int>(rng() % 21) - 10, zy = static_cast<int>(rng() % 41) - 20;
    const float sx = 0.05f, sy = 0.11f;
    const int activation = round % 3;
    std::string scales, zeros, bias_scales;
    Floats sw;
    for (int m = 0; m < outputs; m++) {
      sw.push_back(std::stof(str(0.01f * static_cast<float>(m + 1))));  // as the text says it
      scales += str(m ? "," : "", sw.back());
      bias_scales += str(m ? "," : "", sx * sw.back());
      zeros += m ? ",0" : "0";
    }
    const std::string text =
        str("(x: i8", dims({c.n, channels, c.h, c.w}), " q(", sx, ", ", zx, "), w: i8",
            dims({outputs, c.group_in, c.kh, c.kw}), " q([", scales, "], [", zeros,
            "], axis=0), b: i32[", outputs, "] q([", bias_scales, "], [", zeros,
            "], axis=0)) { y: i8", dims({c.n, outputs, c.out_h(), c.out_w()}), " q(", sy, ", ", zy,
            ") = ", activation ? "com.microsoft.FusedConv" : "Conv", "(x, w, b, ", attributes(c),
            activation == 1   ? ", activation=\"Relu\""
            : activation == 2 ? ", activation=\"Clip\", activation_params=[0.0,1.5]"
                              : "",
            ") return y }");
    const Graph g = parse(text);
    std::vector<Tensor> in = random_inputs(g, rng());
    for (std::size_t t : {0u, 1u}) {  // the whole range
      std::vector<std::int8_t> codes;
      for (std::int64_t i = 0; i < in[t].elements(); i++)
        codes.push_back(static_cast<std::int8_t>(rng() % 255 - 127));
      in[t] = make_tensor<std::int8_t>(DType::i8, in[t].shape, codes);
    }
    const std::vector<long> sums = naive<long>(
        c,
        [&](int i) {
          return static_cast<long>(in[0].values<std::int8_t>()[static_cast<std::size_t>(i)]) - zx;
        },
        [&](int i) {
          return static_cast<long>(in[1].values<std::int8_t>()[static_cast<std::size_t>(i)]);
        });
    const Tensor got = evaluate(g, in)[0];
    ASSERT_EQ(static_cast<std::size_t>(got.elements()), sums.size());
    const auto plane = static_cast<std::size_t>(c.out_h() * c.out_w());
    for (std::size_t i = 0; i < sums.size(); i++) {
      const std::size_t m = i / plane % static_cast<std::size_t>(outputs);
      const float real =
          static_cast<float>(sums[i] + in[2].values<std::int32_t>()[m]) * (sx * sw[m] / sy);
      int low = -128, high = 127;
      if (activation) low = zy;
      if (activation == 2) high = std::min(high, static_cast<int>(std::nearbyint(1.5f / sy)) + zy);
      const int want = static_cast<int>(
          std::min<double>(std::max<double>(std::nearbyint(real) + zy, low), high));
      ASSERT_EQ(got.values<std::int8_t>()[i], want) << text << " element " << i;
    }
  }
}

TEST(Conv, AsymmetricPadsAreHonoured) {
  // Sums of 3x3 windows of 0..63 with one row and column of zeros after the end.
  const Tensor y =
      run("(x: f32[1,1,8,8], w: f32[1,1,3,3]) { y = Conv(x, w, strides=[2,2], pads=[0,0,1,1]) "
          "return y }",
          {ramp({1, 1, 8, 8}), ramp({1, 1, 3, 3}, 1, 0)})[0];
  ASSERT_TRUE((y.shape == Shape{1, 1, 4, 4}));
  EXPECT_EQ(y.values<float>()[0], 81);                         // 9 * 9
  EXPECT_EQ(y.values<float>()[3], 6 + 7 + 14 + 15 + 22 + 23);  // right column is padding
  EXPECT_EQ(y.values<float>()[15], 54 + 55 + 62 + 63);         // both
}

TEST(Conv, QLinearConvWithWeightZeroPointsThatDiffer) {
  // Sum of (130 - 128) * (100 - 5) over four taps is 760; times 0.05 * 0.02 / 0.1 is 7.6: code 136.
  const Graph g = parse(
      "(x: u8[1,1,3,3], w: u8[2,1,2,2]) { y = QLinearConv(x, f32[]{0.05}, u8[]{128}, w, "
      "f32[2]{0.02, 0.02}, u8[2]{5, 90}, "
      "f32[]{0.1}, u8[]{128}) return y }");
  const std::vector<std::uint8_t> x(9, 130), w(8, 100);
  const Tensor y =
      evaluate(g, std::vector<Tensor>{make_tensor<std::uint8_t>(DType::u8, {1, 1, 3, 3}, x),
                                      make_tensor<std::uint8_t>(DType::u8, {2, 1, 2, 2}, w)})[0];
  for (std::size_t i = 0; i < 8; i++) EXPECT_EQ(y.values<std::uint8_t>()[i], i < 4 ? 136 : 129);
}

TEST(Conv, RefusesWhatCannotBe) {
  const std::string_view wide =
      "(x: f32[1,1,N,2], w: f32[1,1,3,3]) { y = Conv(x, w, pads=[1,0,1,0]) return y }";
  expect_failure(wide, {ramp({1, 1, 4, 2}), ramp({1, 1, 3, 3})}, "wider than the padded input");
  expect_failure("(x: f32[1,3,5,5], w: f32[4,2,1,1]) { y = Conv(x, w) return y }", {},
                 "input channels");
  expect_failure(
      "(x: f32[1,1,5,5], w: f32[1,1,1,1]) { y = Conv(x, w, pads=[0,0,9223372036854775807,0]) "
      "return y }",
      {}, "pads");
  expect_failure("(x: f32[1,1,5,5], w: f32[1,1,1,1]) { y = Conv(x, w, strides=[0,1]) return y }",
                 {}, "strides");
}

// sum(conv(x) * y) == sum(x * conv_transpose(y)): the definition of the transpose.
TEST(ConvTranspose, IsTheAdjointOfConv) {
  std::mt19937 rng(seed());
  for (int round = 0; round < 40; round++) {
    Case c = random_case(rng);
    c.n = 1;
    const int in = c.groups * c.group_in, out = c.groups * c.group_out;
    const int rest_h = (c.h + c.top + c.bottom - (c.kh - 1) * c.dh - 1) % c.sh,
              rest_w = (c.w + c.left + c.right - (c.kw - 1) * c.dw - 1) % c.sw;
    const Graph forward = parse(str("(x: f32", dims({1, in, c.h, c.w}), ", w: f32",
                                    dims({out, c.group_in, c.kh, c.kw}), ") { y = Conv(x, w, ",
                                    attributes(c), ") return y }"));
    const Graph back =
        parse(str("(y: f32", dims({1, out, c.out_h(), c.out_w()}), ", w: f32",
                  dims({out, c.group_in, c.kh, c.kw}), ") { x = ConvTranspose(y, w, ",
                  attributes(c), ", output_padding=[", rest_h, ",", rest_w, "]) return x }"));
    std::vector<Tensor> x = random_inputs(forward, rng()), y = random_inputs(back, rng());
    y[1] = x[1];
    const Tensor ax = evaluate(forward, x)[0], ay = evaluate(back, y)[0];
    ASSERT_TRUE(ay.shape == x[0].shape);
    double left = 0, right = 0, size = 1;
    for (std::size_t i = 0; i < ax.values<float>().size(); i++)
      left += double(ax.values<float>()[i]) * double(y[0].values<float>()[i]);
    for (std::size_t i = 0; i < ay.values<float>().size(); i++)
      right += double(ay.values<float>()[i]) * double(x[0].values<float>()[i]),
          size += std::fabs(double(ay.values<float>()[i]));
    EXPECT_NEAR(left, right, 1e-4 * size);
  }
}

TEST(ConvTranspose, PaddingAndShapes) {  // values of ONNX Runtime
  const std::vector<Tensor> in = {ramp({1, 1, 2, 2}), ramp({1, 1, 3, 3})};
  expect_floats(run("(x: f32[1,1,2,2], w: f32[1,1,3,3]) { y = ConvTranspose(x, w, strides=[2,2], "
                    "auto_pad=\"SAME_UPPER\") return y }",
                    in)[0],
                {1, 1, 4, 4}, {0, 0, 0, 1, 0, 0, 3, 4, 0, 2, 10, 10, 6, 8, 19, 12});
  expect_floats(run("(x: f32[1,1,2,2], w: f32[1,1,3,3]) { y = ConvTranspose(x, w, strides=[2,2], "
                    "output_shape=[4,4]) return y }",
                    in)[0],
                {1, 1, 4, 4}, {0, 3, 4, 5, 2, 10, 10, 14, 8, 19, 12, 15, 14, 34, 21, 24});
}

// ---- pools

TEST(Pool, AverageDividesByTheCellsInsideThePadding) {
  const Tensor x = floats({1, 1, 9}, {2.0903f, 4.6493f, 1.6320f, -3.2051f, 4.6975f, 4.7296f,
                                      3.3653f, -1.5815f, -2.3832f});
  expect_floats(run("(x: f32[1,1,9]) { y = AveragePool(x, kernel_shape=[7], strides=[3], "
                    "pads=[3,3], count_include_pad=1, ceil_mode=1) return y }",
                    {x})[0],
                {1, 1, 4}, {0.738071f, 2.565557f, 0.803229f, -0.0999f});
}

TEST(Pool, MaxKeepsNotANumberAndCountsIndicesInTheWholeInput) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<Tensor> out =
      run("(x: f32[1,2,4]) { y, i = MaxPool(x, kernel_shape=[2], strides=[2]) return y, i }",
          {floats({1, 2, 4}, {-3, -4, nan, 9, 1, 1, 2, 5})});
  EXPECT_EQ(out[0].values<float>()[0], -3);
  EXPECT_TRUE(std::isnan(out[0].values<float>()[1]));
  expect_ints(out[1], {1, 2, 2}, {0, 2, 4, 7});
}

TEST(Pool, QuantisedAverageRoundsHalfToEven) {
  // Mean of codes less the zero point 1: (1 + 2) / 2 = 1.5 and (2 + 3) / 2 = 2.5: both become 2,
  // plus 10.
  const Graph g = parse(
      "(x: i8[1,1,4] q(0.5, 1)) { y: i8[1,1,2] q(0.5, 10) = AveragePool(x, kernel_shape=[2], "
      "strides=[2]) return y }");
  const std::int8_t x[] = {2, 3, 3, 4};
  const Tensor y =
      evaluate(g, std::vector<Tensor>{make_tensor<std::int8_t>(DType::i8, {1, 1, 4}, x)})[0];
  EXPECT_EQ(y.values<std::int8_t>()[0], 12);
  EXPECT_EQ(y.values<std::int8_t>()[1], 12);
}

// ---- Resize

TEST(Resize, UsesTheScaleThatWasGiven) {
  const Tensor y = run("(x: f32[1,1,3,3]) { y = Resize(x, _, f32[4]{1.0,1.0,2.5,2.5}) return y }",
                       {ramp({1, 1, 3, 3})})[0];
  ASSERT_TRUE((y.shape == Shape{1, 1, 7, 7}));
  const std::size_t from[] = {0, 0, 0, 1, 1, 2, 2};
  for (std::size_t r = 0; r < 7; r++)
    for (std::size_t c = 0; c < 7; c++)
      EXPECT_EQ(y.values<float>()[r * 7 + c], static_cast<float>(from[r] * 3 + from[c]));
}

TEST(Resize,
     CoordinateModes) {  // values of ONNX Runtime, linear by scale 1.6 and cubic (-0.5) to 6
  struct Row {
    const char* mode;
    Floats linear, cubic;
  };
  const Row rows[] = {
      {"half_pixel",
       {1, 1.875f, 2.6875f, -0.4375f, 0.1875f, 4.5625f},
       {0.8842597f, 2.3125f, 2.43287f, -1.780092f, 1.1875f, 5.405092f}},
      {"half_pixel_symmetric",
       {1, 2.125f, 2.0625f, -1.0625f, 1.0625f, 5},
       {0.884259f, 2.3125f, 2.43287f, -1.780092f, 1.1875f, 5.405092f}},
      {"pytorch_half_pixel",
       {1, 1.875f, 2.6875f, -0.4375f, 0.1875f, 4.5625f},
       {0.8842597f, 2.3125f, 2.43287f, -1.780092f, 1.1875f, 5.405092f}},
      {"align_corners", {1, 2.2f, 2, -1, 0.8f, 5}, {1, 2.608f, 2.256f, -1.656f, 0.272f, 5}},
      {"asymmetric",
       {1, 2.25f, 1.75f, -1.375f, 1.5f, 5},
       {1, 2.777778f, 1.407409f, -2, 2.740742f, 5.518519f}},
  };
  const std::vector<Tensor> in = {floats({4}, {1, 3, -2, 5})};
  for (const Row& row : rows) {
    SCOPED_TRACE(row.mode);
    const std::string mode = str(", coordinate_transformation_mode=\"", row.mode, "\") return y }");
    expect_floats(run("(x: f32[4]) { y = Resize(x, _, f32[1]{1.6}, mode=\"linear\"" + mode, in)[0],
                  {6}, row.linear, 2e-5f);
    expect_floats(
        run("(x: f32[4]) { y = Resize(x, _, _, i64[1]{6}, mode=\"cubic\", cubic_coeff_a=-0.5" +
                mode,
            in)[0],
        {6}, row.cubic, 2e-5f);
  }
  expect_floats(run("(x: f32[4]) { y = Resize(x, f32[2]{0.2, 1.3}, _, i64[1]{5}, mode=\"linear\", "
                    "extrapolation_value=7.0, "
                    "coordinate_transformation_mode=\"tf_crop_and_resize\") return y }",
                    in)[0],
                {5}, {2.2f, 0.875f, -0.25f, 7, 7});
  // (i + 0.5) / 1.5 rounded down half: 0, 1, 1.67, 2.33, 3, 3.67.
  expect_floats(run("(x: f32[4]) { y = Resize(x, _, _, i64[1]{6}, "
                    "coordinate_transformation_mode=\"tf_half_pixel_for_nn\", "
                    "nearest_mode=\"floor\") return y }",
                    in)[0],
                {6}, {1, 3, 3, -2, 5, 5});
}

TEST(Resize, NearestModes) {  // i / 2, asymmetric
  const std::vector<Tensor> in = {floats({4}, {1, 3, -2, 5})};
  for (const char* mode : {"floor", "round_prefer_floor"})
    expect_floats(run(str("(x: f32[4]) { y = Resize(x, _, f32[1]{2.0}, "
                          "coordinate_transformation_mode=\"asymmetric\", nearest_mode=\"",
                          mode, "\") return y }"),
                      in)[0],
                  {8}, {1, 1, 3, 3, -2, -2, 5, 5});
  for (const char* mode : {"ceil", "round_prefer_ceil"})
    expect_floats(run(str("(x: f32[4]) { y = Resize(x, _, f32[1]{2.0}, "
                          "coordinate_transformation_mode=\"asymmetric\", nearest_mode=\"",
                          mode, "\") return y }"),
                      in)[0],
                  {8}, {1, 3, 3, -2, -2, 5, 5, 5});
}

// ---- movement

TEST(Slice, StepsAndEndsBeyondAllBounds) {
  const std::vector<Tensor> in = {ramp({10})};
  const auto slice = [&](const char* start, const char* end, const char* step) {
    return run(str("(x: f32[10]) { y = Slice(x, i64[1]{", start, "}, i64[1]{", end,
                   "}, i64[1]{0}, i64[1]{", step, "}) return y }"),
               in)[0];
  };
  const char *low = "-9223372036854775808", *high = "9223372036854775807";
  expect_floats(slice("0", "5", "-1"), {0}, {});
  expect_floats(slice(high, low, "-3"), {4}, {9, 6, 3, 0});
  expect_floats(slice(low, high, "4"), {3}, {0, 4, 8});
  expect_floats(slice("-2", high, "1"), {2}, {8, 9});
  expect_floats(slice("5", low, low), {1}, {5});
  expect_floats(slice("3", high, high), {1}, {3});
  expect_floats(slice("-3", "2", "-2"), {3}, {7, 5, 3});
  expect_failure(
      "(x: f32[10]) { y = Slice(x, i64[1]{0}, i64[1]{5}, i64[1]{0}, i64[1]{0}) return y }", in,
      "step of 0");
}

TEST(Slice, StartsThatAriseAtRunTime) {
  const std::int64_t start = -2;
  expect_floats(run("(x: f32[1,6], s: i64[1]) { y = Slice(x, s, i64[1]{9223372036854775807}, "
                    "i64[1]{1}) return y }",
                    {ramp({1, 6}), make_ints(std::span(&start, 1))})[0],
                {1, 2}, {4, 5});
}

TEST(Pad, NegativePadsCutAndModesMirror) {
  expect_floats(run("(x: f32[1,1,4,4]) { y = Pad(x, i64[8]{0,0,-1,-1,0,0,-1,-1}) return y }",
                    {ramp({1, 1, 4, 4})})[0],
                {1, 1, 2, 2}, {5, 6, 9, 10});
  expect_floats(
      run("(x: f32[3]) { y = Pad(x, i64[2]{2,1}, mode=\"reflect\") return y }", {ramp({3})})[0],
      {6}, {2, 1, 0, 1, 2, 1});
  expect_floats(
      run("(x: f32[3]) { y = Pad(x, i64[2]{2,1}, mode=\"edge\") return y }", {ramp({3})})[0], {6},
      {0, 0, 0, 1, 2, 2});
  expect_floats(
      run("(x: f32[3]) { y = Pad(x, i64[2]{4,1}, mode=\"wrap\") return y }", {ramp({3})})[0], {8},
      {2, 0, 1, 2, 0, 1, 2, 0});
  expect_failure("(x: f32[N]) { y = Pad(x, i64[2]{-4,1}) return y }", {ramp({2})},
                 "the pads leave");
}

TEST(Pad, QuantisedFillsWithTheCodeOfTheConstant) {
  const std::int8_t x[] = {1, 2};
  const Tensor zero =
      evaluate(parse("(x: i8[2] q(0.5, 7)) { y: i8[3] q(0.5, 7) = Pad(x, i64[2]{0,1}) return y }"),
               std::vector<Tensor>{make_tensor<std::int8_t>(DType::i8, {2}, x)})[0];
  EXPECT_EQ(zero.values<std::int8_t>()[2], 7);
  const Tensor one = evaluate(
      parse(
          "(x: i8[2] q(0.5, 7)) { y: i8[3] q(0.5, 7) = Pad(x, i64[2]{0,1}, f32[]{1.0}) return y }"),
      std::vector<Tensor>{make_tensor<std::int8_t>(DType::i8, {2}, x)})[0];
  EXPECT_EQ(one.values<std::int8_t>()[2], 9);
}

TEST(Gather, NegativeIndicesCountFromTheEnd) {
  expect_floats(run("(x: f32[3,4]) { y = GatherElements(x, "
                    "i64[3,4]{-1,-1,-1,-1,-1,-1,-1,-1,-1,-1,-1,-1}, axis=1) return y }",
                    {ramp({3, 4})})[0],
                {3, 4}, {3, 3, 3, 3, 7, 7, 7, 7, 11, 11, 11, 11});
  expect_floats(
      run("(x: f32[3,4]) { y = GatherND(x, i64[2,2]{-1,-1,0,-2}) return y }", {ramp({3, 4})})[0],
      {2}, {11, 2});
  expect_failure("(x: f32[3], i: i64[]) { y = Gather(x, i) return y }", {ramp({3}), make_int(3)},
                 "index 3");
  expect_failure("(x: f32[3], i: i64[]) { y = Gather(x, i) return y }", {ramp({3}), make_int(-4)},
                 "index -4");
}

TEST(Split, UnevenParts) {
  const std::vector<Tensor> out =
      run("(x: f32[7]) { a, b, c = Split(x, axis=0, num_outputs=3) return a, b, c }", {ramp({7})});
  expect_floats(out[0], {3}, {0, 1, 2});
  expect_floats(out[2], {1}, {6});
}

TEST(Reshape, ZerosAndOpenDims) {
  const Tensor empty = floats({0, 8, 2}, {});
  EXPECT_TRUE((run("(x: f32[0,8,2]) { a = Reshape(x, i64[3]{4,2,0}, allowzero=1) y = Reshape(a, "
                   "i64[3]{0,0,4}, allowzero=1) return y }",
                   {empty})[0]
                   .shape == Shape{0, 0, 4}));
  expect_failure("(x: f32[2,3]) { y = Reshape(x, i64[2]{4,-1}) return y }", {ramp({2, 3})},
                 "6 elements");
  const Graph symbolic = parse("(x: f32[N,3,4]) { y = Reshape(x, i64[2]{-1,12}) return y }");
  EXPECT_EQ(print(symbolic[symbolic.outputs[0]].type), "f32[N, 12]");
}

// ---- control flow

TEST(Loop, WithoutTripsKeepsRankAndCarriedValues) {
  for (const char* limit :
       {"i64[]{0}, bool[]{true}", "i64[]{5}, bool[]{false}", "_, bool[]{false}"}) {
    const std::vector<Tensor> out = run(str("(x: f32[3]) { y, rows = Loop(", limit,
                                            ", x) body=(i: i64[], go: bool[], a: f32[3]) { b = "
                                            "Add(a, a) return go, b, b } return y, rows }"),
                                        {ramp({3})});
    expect_floats(out[0], {3}, {0, 1, 2});
    expect_floats(out[1], {0, 3}, {});
  }
}

TEST(Loop, GrowsStacksAndStops) {
  const std::vector<Tensor> out =
      run("(x: f32[1]) { y, rows = Loop(_, bool[]{true}, x) body=(i: i64[], go: bool[], a: f32[*]) "
          "{ b = Concat(a, x, axis=0) "
          "s = Size(b) more = Less(s, i64[]{4}) return more, b, s } return y, rows }",
          {ramp({1}, 5)});
  expect_floats(out[0], {4}, {5, 5, 5, 5});
  expect_ints(out[1], {3}, {2, 3, 4});
}

TEST(Scan, WalksBackwardsAlongAnyAxis) {
  const std::vector<Tensor> out =
      run("(s: f32[2], x: f32[2,3]) { y, rows = Scan(s, x, num_scan_inputs=1, scan_input_axes=[1], "
          "scan_input_directions=[1], "
          "scan_output_axes=[-1]) body=(a: f32[2], e: f32[2]) { b = Add(a, e) return b, b } return "
          "y, rows }",
          {ramp({2}, 0, 0), ramp({2, 3})});
  expect_floats(out[0], {2}, {3, 12});
  expect_floats(out[1], {2, 3}, {2, 3, 3, 5, 9, 12});
}

// ---- recurrent layers: values of ONNX Runtime

TEST(Gru, ResetBeforeOrAfterTheProduct) {
  const std::vector<Tensor> in = {ramp({3, 1, 2}, -0.2f, 0.1f), ramp({1, 6, 2}, -0.4f, 0.07f),
                                  ramp({1, 6, 2}, 0.3f, -0.05f), ramp({1, 12}, -0.1f, 0.03f)};
  const auto gru = [&](int linear) {
    return run(str("(x: f32[3,1,2], w: f32[1,6,2], r: f32[1,6,2], b: f32[1,12]) { y = GRU(x, w, r, "
                   "b, hidden_size=2, linear_before_reset=",
                   linear, ") return y }"),
               in)[0];
  };
  expect_floats(gru(0), {3, 1, 1, 2},
                {0.0779603f, 0.08547492f, 0.1532309f, 0.184612f, 0.2249498f, 0.2870233f}, 1e-6f);
  expect_floats(gru(1), {3, 1, 1, 2},
                {0.03400289f, 0.03602955f, 0.08912145f, 0.1167934f, 0.1528002f, 0.215201f}, 1e-6f);
}

TEST(Lstm, BothDirectionsWithLengthsStatesAndPeepholes) {
  const std::int32_t lengths[] = {3, 2};
  const std::vector<Tensor> in = {ramp({3, 2, 2}, -0.5f, 0.1f),
                                  ramp({2, 8, 2}, -0.4f, 0.03f),
                                  ramp({2, 8, 2}, 0.3f, -0.02f),
                                  ramp({2, 16}, -0.1f, 0.01f),
                                  make_tensor<std::int32_t>(DType::i32, {2}, lengths),
                                  ramp({2, 2, 2}, 0, 0.1f),
                                  ramp({2, 2, 2}, 0.3f, -0.1f),
                                  ramp({2, 6}, -0.2f, 0.05f)};
  const std::vector<Tensor> out =
      run("(x: f32[3,2,2], w: f32[2,8,2], r: f32[2,8,2], b: f32[2,16], l: i32[2], h: f32[2,2,2], "
          "c: f32[2,2,2], p: f32[2,6]) "
          "{ y, yh, yc = LSTM(x, w, r, b, l, h, c, p, hidden_size=2, direction=\"bidirectional\") "
          "return y, yh, yc }",
          in);
  expect_floats(out[0], {3, 2, 2, 2},
                {0.09268083f,
                 0.0523608f,
                 0.03934225f,
                 0.002326951f,
                 0.01424266f,
                 -0.002265623f,
                 0.009824623f,
                 -0.006327674f,
                 0.04517015f,
                 0.02926995f,
                 0.01556182f,
                 0.008023929f,
                 0.1180078f,
                 0.1076932f,
                 -0.05141226f,
                 -0.0782837f,
                 0.01665316f,
                 0.0218235f,
                 0,
                 0,
                 0.08749047f,
                 0.06287844f,
                 0,
                 0},
                1e-6f);
  expect_floats(out[1], {2, 2, 2},
                {0.01665316f, 0.0218235f, 0.01556182f, 0.008023929f, 0.01424266f, -0.002265623f,
                 0.009824623f, -0.006327674f},
                1e-6f);
  expect_floats(out[2], {2, 2, 2},
                {0.03809787f, 0.04829334f, 0.03369554f, 0.01701298f, 0.02808707f, -0.004579119f,
                 0.0182643f, -0.01182503f},
                1e-6f);
}

TEST(NonMaxSuppression, WithoutALimitGivesNothing) {
  const std::vector<Tensor> in = {ramp({1, 3, 4}), ramp({1, 1, 3})};
  expect_ints(run("(b: f32[1,3,4], s: f32[1,1,3]) { y = NonMaxSuppression(b, s) return y }", in)[0],
              {0, 3}, {});
  expect_ints(
      run("(b: f32[1,3,4], s: f32[1,1,3]) { y = NonMaxSuppression(b, s, i64[]{0}) return y }",
          in)[0],
      {0, 3}, {});
}

}  // namespace
}  // namespace longshore::tests::ops_struct_test
