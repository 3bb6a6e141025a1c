// Layer and RMS normalisation of codes: the formula of docs/numbers.md, float's numbers, and the
// NPU's bytes.
#include <cmath>

#include "base/error.hpp"
#include "npu_case.hpp"
#include "quantize/quantize.hpp"
#include "tensor/requantise.hpp"

namespace longshore::tests::norm_codes_test {
namespace {

constexpr float out_scale = 0.03f;
constexpr int out_zero = 5, in_zero = 3;

std::string net(std::string_view op, std::int64_t rows, std::int64_t n, float scale, bool bias) {
  return str("(x: i8[", rows, ",", n, "] q(", scale, ", ", in_zero, "), s: f32[", n, "]",
             bias ? str(", b: f32[", n, "]") : "", ") { y: i8[", rows, ",", n, "] q(", out_scale,
             ", ", out_zero, ") = ", op, "(x, s", bias ? ", b" : "", ", epsilon=0.001) return y }");
}

/// Random codes; the first row is all equal, the second has both ends.
Tensor codes(std::int64_t rows, std::int64_t n, unsigned spread, std::mt19937& rng) {
  std::vector<std::int8_t> x(static_cast<std::size_t>(rows * n));
  for (std::int8_t& c : x) c = static_cast<std::int8_t>(static_cast<int>(rng() % spread) - 128);
  for (std::int64_t i = 0; i < n; i++) {
    x[static_cast<std::size_t>(i)] = 100;
    x[static_cast<std::size_t>(n + i)] = i % 2 ? 127 : -128;
  }
  return make_tensor<std::int8_t>(DType::i8, Shape{rows, n}, x);
}

TEST(NormCodes, FollowTheFormulaAndAreNearFloat) {
  std::mt19937 rng(seed());
  constexpr std::int64_t rows = 6;
  for (const std::int64_t n : {1, 2, 5, 77, 1000})
    for (const float in_scale : {0.001f, 0.05f, 3.0f})
      for (const std::string_view op : {"LayerNormalization", "RMSNormalization"}) {
        const bool layer = op == "LayerNormalization", biased = layer && rng() % 2 != 0;
        const std::string text = net(op, rows, n, in_scale, biased);
        SCOPED_TRACE(text);
        const Graph g = parse(text);
        std::vector<Tensor> in = {codes(rows, n, rng() % 2 ? 256 : 9, rng),
                                  random_tensor(rng, DType::f32, Shape{n})};
        if (biased) in.push_back(random_tensor(rng, DType::f32, Shape{n}));
        const std::vector<Tensor> out = evaluate(g, in);
        const auto x = in[0].values<std::int8_t>(), got = out[0].values<std::int8_t>();
        const double s = static_cast<double>(in_scale), count = static_cast<double>(n),
                     epsilon = static_cast<double>(0.001f);
        for (std::int64_t r = 0; r < rows; r++) {
          const auto d = [&](std::int64_t i) {
            return std::int64_t{x[static_cast<std::size_t>(r * n + i)]} - in_zero;
          };
          std::int64_t sum = 0, squares = 0;
          for (std::int64_t i = 0; i < n; i++) sum += d(i), squares += d(i) * d(i);
          const auto spread = static_cast<double>(n * squares - sum * sum);
          const double v = layer ? spread * s * s / (count * count)
                                 : static_cast<double>(squares) * s * s / count;
          const auto f = static_cast<float>(s / ((layer ? count : 1) * std::sqrt(v + epsilon)));
          for (std::int64_t i = 0; i < n; i++) {
            const auto at = static_cast<std::size_t>(i);
            const float scale = in[1].values<float>()[at],
                        bias = biased ? in[2].values<float>()[at] : 0;
            float y = static_cast<float>(layer ? n * d(i) - sum : d(i)) * f * scale;
            if (biased) y += bias;
            const int code = got[static_cast<std::size_t>(r * n + i)];
            ASSERT_EQ(code, quantise(y, out_scale, out_zero, -128, 127)) << r << ", " << i;
            const double mean = layer ? static_cast<double>(sum) / count : 0;
            const double real = (static_cast<double>(d(i)) - mean) * s / std::sqrt(v + epsilon) *
                                    static_cast<double>(scale) +
                                static_cast<double>(bias);
            ASSERT_NEAR(code, quantise(static_cast<float>(real), out_scale, out_zero, -128, 127), 1)
                << r << ", " << i;
          }
        }
      }
}

TEST(NormOnNpu, HasTheReferencesBytesInTilesOfAnySize) {
  for (const std::string_view op :
       {"LayerNormalization(a, f32[40]{0.7}, f32[40]{-0.2})", "LayerNormalization(a, f32[40]{0.7})",
        "RMSNormalization(a, f32[40]{0.7})"}) {
    const Graph g = parse(str("(x: i8[2,30,40] q(0.1, 3)) { a: i8[2,30,40] q(0.05, -5) = Tanh(x) ",
                              "b: i8[2,30,40] q(0.02, 7) = ", op,
                              " y: i8[2,30,40] q(0.004, -20) = Sigmoid(b) return y }"));
    for (const char* target : {"shore-1", "rk3588-like"})
      for (const std::uint32_t sram : {0u, 4096u}) {
        const plan::Plan p = expect_exact(g, load_target(target), sram, seed());
        EXPECT_TRUE(p.placement.nodes[1].on_npu());
      }
  }
}

TEST(NormOnNpu, SeveralAxesStayOnTheCpuWithAReason) {
  const Graph g = parse(R"((x: i8[1,3,4] q(0.1, 3)) {
    y: i8[1,3,4] q(0.02, 5) = LayerNormalization(x, f32[3,4]{0.5}, axis=1) return y })");
  const Placement p = place(g, load_target("shore-1"), {.by_price = false});
  ASSERT_FALSE(p.nodes[0].on_npu());
  std::string text;
  for (const Reason& r : p.nodes[0].options.back().reasons) text += r.text + "\n";
  EXPECT_NE(text.find("normalised axes"), std::string::npos) << text;
}

TEST(NormCodes, QuantizeKeepsScaleAndBiasInFloat) {
  const Graph g = parse(R"((x: f32[1,4,8]) {
    a = MatMul(x, f32[8,8]{0.1})
    y = LayerNormalization(a, f32[8]{0.5}, f32[8]{0.1}) return y })");
  std::mt19937 rng(seed());
  std::vector<std::vector<Tensor>> samples;
  for (int i = 0; i < 4; i++) samples.push_back({random_tensor(rng, DType::f32, Shape{1, 4, 8})});
  Calibration c;
  c.count = samples.size();
  c.sample = [&](std::size_t i) { return samples[i]; };
  const Graph q = quantize(g, c);
  const auto norm = std::ranges::find_if(
      q.nodes, [](const Node& n) { return n.op->name == "LayerNormalization"; });
  ASSERT_NE(norm, q.nodes.end());
  EXPECT_TRUE(q[norm->inputs[0]].type.quantised());
  EXPECT_TRUE(q[norm->outputs[0]].type.quantised());
  for (std::size_t i : {1u, 2u}) EXPECT_EQ(q[norm->inputs[i]].type.dtype, DType::f32);
}

}  // namespace
}  // namespace longshore::tests::norm_codes_test
