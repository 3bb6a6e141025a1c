// Codes wider and narrower than 8 bits: what quantize makes of a precision, and that reference and
// runtime compute it by docs/numbers.md.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.hpp"
#include "measure/runner.hpp"
#include "optimize/optimize.hpp"
#include "quantize/quantize.hpp"
#include "random.hpp"
#include "tensor/precision.hpp"
#include "tensor/quant.hpp"

namespace longshore::tests::precision_test {
namespace {

std::vector<std::string> operators(const Graph& g) {
  std::vector<std::string> out;
  for (const Node& n : g.nodes) out.push_back(qualified_name(*n.op));
  return out;
}

std::vector<std::vector<Tensor>> samples(const Graph& g, int count) {
  std::vector<std::vector<Tensor>> out;
  for (int i = 0; i < count; i++)
    out.push_back(random_inputs(g, seed() + 31 * static_cast<unsigned>(i)));
  return out;
}

/// Constants of the net: multiples of 1/64 whose largest is 127/64 in each row and column, so that
/// 8 bits hold them exactly. `exact` false: any floats.
Graph net(std::string_view text, bool exact) {
  Graph g = parse(text);
  std::mt19937 rng(seed());
  std::normal_distribution<float> normal(0, 0.5f);
  for (Value& v : g.values) {
    if (!v.constant.present() || v.constant.dtype != DType::f32 || v.constant.shape.rank < 2)
      continue;
    std::vector<float> values;
    const std::int64_t each = v.constant.elements() / v.constant.shape[0];
    for (std::int64_t i = 0; i < v.constant.elements(); i++) {
      const float code =
          i % each == 0 || i < each ? 127.0f : static_cast<float>(rng() % 255) - 127.0f;
      values.push_back(exact ? code / 64 : normal(rng));
    }
    v.constant = make_floats(v.constant.shape, values);
  }
  return optimize(g);
}

double sqnr(const Graph& want, const Graph& got) {
  double signal = 0, noise = 0;
  for (const std::vector<Tensor>& in : samples(want, 4)) {
    const std::vector<Tensor> a = evaluate(want, in), b = evaluate(got, in);
    for (std::size_t o = 0; o < a.size(); o++)
      for (std::size_t i = 0; i < a[o].values<float>().size(); i++) {
        const double x = a[o].values<float>()[i], e = b[o].values<float>()[i] - x;
        signal += x * x;
        noise += e * e;
      }
  }
  if (noise == 0) return 100;  // exact, also where a net gives nothing but zeros
  return 10 * std::log10(signal / noise);
}

Graph quantised(const Graph& g, const QuantizeOptions& options, QuantizeReport* report = nullptr) {
  const Graph q = quantize(g, calibration_from(samples(g, 20)), options, report);
  EXPECT_TRUE(parse(print(q)) == q);
  for (const std::vector<Tensor>& in : samples(g, 2)) {
    Runner runner(q, {});
    const std::vector<Tensor> got = runner.run(in), want = evaluate(q, in);
    for (std::size_t o = 0; o < want.size(); o++)
      for (std::size_t i = 0; i < want[o].values<float>().size(); i++)
        EXPECT_NEAR(got[o].values<float>()[i], want[o].values<float>()[i],
                    1e-4 * (1 + std::abs(want[o].values<float>()[i])));
  }
  return q;
}

constexpr std::string_view nets[] = {
    // a residual block, a pool, a classifier
    "(x: f32[1,3,8,8]) { a = Conv(x, f32[8,3,3,3]{0}, f32[8]{0.25}, pads=[1,1,1,1]) r = Relu(a) "
    "b = Conv(r, f32[8,8,3,3]{0}, pads=[1,1,1,1]) s = Add(b, a) t = Relu(s) m = MaxPool(t, "
    "kernel_shape=[2,2], strides=[2,2]) g = GlobalAveragePool(m) f = Flatten(g) y = Gemm(f, "
    "f32[5,8]{0}, f32[5]{0.5}, transB=1) return y }",
    // depthwise, tables, products of two activations, moves, a concat
    "(x: f32[1,4,6,6]) { d = Conv(x, f32[4,1,3,3]{0}, group=4, pads=[1,1,1,1]) s = Sigmoid(d) "
    "m = Mul(d, s) c = Clip(m, f32[]{-1}, f32[]{6}) p = AveragePool(c, kernel_shape=[2,2], "
    "strides=[2,2]) k = Concat(p, p, axis=1) t = Transpose(k, perm=[0,2,3,1]) y = Reshape(t, "
    "i64[2]{1,-1}) return y }",
    "(x: f32[3,8]) { a = MatMul(x, f32[8,8]{0}) h = Tanh(a) u = Sub(a, h) y = MatMul(u, "
    "f32[8,4]{0}) return y }"};

class Nets : public testing::TestWithParam<std::string_view> {};

// Weights that 8 bits hold: what is lost is lost in the activations.
TEST_P(Nets, SixteenBitActivationsLoseFarLess) {
  const Graph g = net(GetParam(), true);
  const double w8a8 = sqnr(g, quantised(g, {})),
               w8a16 = sqnr(g, quantised(g, {.precision = Precision::w8a16}));
  RecordProperty("w8a8", std::to_string(w8a8));
  RecordProperty("w8a16", std::to_string(w8a16));
  EXPECT_GT(w8a16, w8a8 + 20) << w8a8;
}

TEST_P(Nets, SixteenBitWeightsTooInAnyNet) {
  const Graph g = net(GetParam(), false);
  const double w8a8 = sqnr(g, quantised(g, {})),
               w8a16 = sqnr(g, quantised(g, {.precision = Precision::w8a16})),
               w16a16 = sqnr(g, quantised(g, {.precision = Precision::w16a16}));
  EXPECT_GT(w16a16, w8a8 + 20) << w8a8;
  EXPECT_GT(w8a16, w8a8) << "the weights' rounding alone is left";
}

TEST_P(Nets, FourBitWeights) {
  const Graph g = net(GetParam(), false);
  const Graph q = quantised(g, {.precision = Precision::w4a8});
  int four = 0;
  for (const Value& v : q.values) {
    if (!v.constant.present() || v.type.dtype != DType::i4) continue;
    four++;
    for (std::int64_t i = 0; i < v.constant.elements(); i++) {
      EXPECT_GE(load_code(v.constant.view(), i), -7);
      EXPECT_LE(load_code(v.constant.view(), i), 7);
    }
  }
  EXPECT_GT(four, 0);
  EXPECT_GT(sqnr(g, q), 6);
  EXPECT_GT(sqnr(g, quantised(g, {.precision = Precision::w4a16})), 6);
}

INSTANTIATE_TEST_SUITE_P(Precision, Nets, testing::ValuesIn(nets));

TEST(Precision, CodesAreSymmetricInSixteenBits) {
  const Graph g = net(nets[0], false);
  QuantizeReport report;
  const Graph q = quantised(g, {.precision = Precision::w8a16}, &report);
  for (const Value& v : q.values) {
    if (!v.type.quantised()) continue;
    if (!v.constant.present()) {
      EXPECT_EQ(v.type.dtype, DType::i16) << v.name;
    }
    for (std::int32_t z : v.type.quant.zero_point) EXPECT_EQ(z, 0) << v.name;
  }
  EXPECT_EQ(report.nodes.at(Precision::w8a16), report.quantised_nodes);
  EXPECT_THAT(print(report), testing::HasSubstr(" w8a16)"));
  EXPECT_THAT(print(report), testing::HasSubstr(" i16 "));
}

TEST(Precision, EachNodeMayHaveItsOwn) {
  const Graph g = net(
      "(x: f32[1,4,6,6]) { a = Conv(x, f32[4,4,3,3]{0}) b = Conv(a, f32[4,4,1,1]{0}) c = Add(b, a) "
      "y = Conv(c, f32[4,4,1,1]{0}) return y }",
      true);
  QuantizeReport report;
  const Graph q =
      quantised(g, {.precisions = {{"Add", Precision::w8a16}, {"b", Precision::w8a16}}}, &report);
  EXPECT_THAT(operators(q),
              testing::ElementsAre("longshore.Quantize", "Conv", "longshore.Requantize", "Conv",
                                   "Add", "longshore.Requantize", "Conv", "longshore.Dequantize"));
  EXPECT_EQ(report.nodes.at(Precision::w8a8), 2u);
  EXPECT_EQ(report.nodes.at(Precision::w8a16), 2u);
  // The 8 bits at both ends decide: the middle loses nothing, and the whole is not that of 16 bits.
  EXPECT_GT(sqnr(g, q), sqnr(g, quantised(g, {})) - 1);
  EXPECT_LT(sqnr(g, q), sqnr(g, quantised(g, {.precision = Precision::w8a16})) - 20);
  const Graph apart = quantised(g, {.precisions = {{"b", Precision::f32}}});
  EXPECT_THAT(operators(apart), testing::Contains("longshore.Dequantize").Times(testing::Ge(2)));
  EXPECT_THROW(quantised(g, {.precision = Precision::f16}), Error);
}

TEST(Precision, HasNames) {
  for (const PrecisionTypes& t : precisions) {
    EXPECT_EQ(types_of(t.precision).name, t.name);
    EXPECT_EQ(precision_named(name(t.precision)), t.precision);
  }
  EXPECT_FALSE(precision_named("w3a3"));
}

// Sums far beyond int32, by hand in 64 bits; the result is within one code of exact arithmetic.
TEST(Precision, SumsOfSixteenBitProductsAreWide) {
  std::mt19937 rng(seed());
  for (const DType wt : {DType::i8, DType::i16}) {
    const std::int64_t depth = 300;
    std::vector<std::int16_t> x(static_cast<std::size_t>(2 * depth)), w(x.size());
    const std::int32_t largest = wt == DType::i8 ? 127 : 32767;
    for (auto& v : x) v = static_cast<std::int16_t>(20000 + rng() % 12000);
    for (auto& v : w)
      v = static_cast<std::int16_t>(largest / 2 + static_cast<std::int32_t>(rng() % 60));
    std::vector<std::byte> bytes(w.size() * size_bytes(wt));
    const Shape rows{2, depth};
    for (std::size_t i = 0; i < w.size(); i++)
      store_code({wt, rows, bytes.data(), {}}, static_cast<std::int64_t>(i), w[i]);
    const float sx = 0.001f, sw = 0.0005f, sy = wt == DType::i8 ? 0.01f : 2.0f;
    const auto type = [](DType t, const Shape& s, float scale) {
      TensorType out(t, s);
      out.quant = {{scale}, {0}, 0};
      return out;
    };
    const std::int32_t b = -1000000;
    for (bool conv : {false, true}) {
      const Shape x_dims = conv ? Shape{2, depth, 1} : rows, w_dims = x_dims;
      Graph g;
      const ValueId xv = g.add_input("x", type(DType::i16, x_dims, sx));
      const ValueId wv = g.add_constant("w", {wt, w_dims, make_blob(std::vector(bytes))});
      g[wv].type = type(wt, w_dims, sw);
      const std::int32_t biases[] = {b, b};
      const ValueId bv =
          g.add_constant("b", make_tensor<std::int32_t>(DType::i32, Shape{2}, biases));
      g[bv].type = type(DType::i32, Shape{2}, sx * sw);
      const ValueId y = g.add_value("y", type(DType::i16, conv ? Shape{2, 2, 1} : Shape{2, 2}, sy));
      Attributes attributes;
      if (!conv) attributes.set("transB", std::int64_t{1});
      g.add_node({&op_named(conv ? "Conv" : "Gemm"), {xv, wv, bv}, {y}, attributes, {}, {}});
      g.outputs = {y};
      const Tensor in{DType::i16, x_dims, copy_blob(x.data(), x.size() * 2)};
      const std::vector<Tensor> out = evaluate(g, std::vector{in});
      Runner runner(g, {});
      EXPECT_EQ(runner.run(std::vector{in}), out);
      for (std::int64_t i = 0; i < 2; i++)
        for (std::int64_t j = 0; j < 2; j++) {
          std::int64_t sum = b;
          for (std::int64_t k = 0; k < depth; k++)
            sum += std::int64_t{x[static_cast<std::size_t>(i * depth + k)]} *
                   w[static_cast<std::size_t>(j * depth + k)];
          ASSERT_GT(sum, wt == DType::i8 ? 100000000 : std::int64_t{1} << 36);
          const double exact = static_cast<double>(sum) * (double{sx} * double{sw} / double{sy});
          const std::int16_t got =
              out[0].values<std::int16_t>()[static_cast<std::size_t>(i * 2 + j)];
          EXPECT_NEAR(got, std::clamp(exact, -32768.0, 32767.0), 0.51);
        }
    }
  }
}

}  // namespace
}  // namespace longshore::tests::precision_test
