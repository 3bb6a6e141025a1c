// Softmax of codes: the formula of docs/numbers.md, float's numbers, and the NPU's bytes.
#include <cmath>

#include "npu_case.hpp"
#include "tensor/requantise.hpp"

namespace longshore::tests::softmax_codes_test {
namespace {

std::string net(std::int64_t rows, std::int64_t count, float in_scale, float out_scale) {
  return str("(x: i8[", rows, ",", count, "] q(", in_scale, ", 3)) { y: i8[", rows, ",", count,
             "] q(", out_scale, ", -128) = Softmax(x) return y }");
}

/// Random codes; the first row is all equal, the second has both ends.
Tensor codes(std::int64_t rows, std::int64_t count, unsigned spread, std::mt19937& rng) {
  std::vector<std::int8_t> x;
  for (std::int64_t i = 0; i < rows * count; i++)
    x.push_back(static_cast<std::int8_t>(i < count           ? 100
                                         : i < 2 * count - 1 ? -128
                                         : i == 2 * count - 1
                                             ? 127
                                             : static_cast<int>(rng() % spread) - 128));
  return make_tensor<std::int8_t>(DType::i8, Shape{rows, count}, x);
}

TEST(SoftmaxCodes, FollowTheFormulaAndAreNearFloat) {
  std::mt19937 rng(seed());
  constexpr std::int64_t rows = 7;
  for (const std::int64_t count : {1, 2, 5, 77, 1000})
    for (const float in_scale : {0.001f, 0.05f, 0.7f})
      for (const float out_scale : {1 / 256.0f, 0.0007f}) {
        const std::string text = net(rows, count, in_scale, out_scale);
        SCOPED_TRACE(text);
        const Graph g = parse(text);
        const Tensor x = codes(rows, count, rng() % 2 ? 256 : 9, rng);
        const auto from = x.values<std::int8_t>();
        const std::vector<Tensor> y = evaluate(g, std::span(&x, 1));
        const auto got = y[0].values<std::int8_t>();
        for (std::int64_t r = 0; r < rows; r++) {
          const std::int8_t* row = from.data() + r * count;
          const int most = *std::max_element(row, row + count);
          std::int64_t sum = 0;
          double real_sum = 0;
          const auto e = [&](std::int64_t i) {
            return std::llrint(std::ldexp(
                std::exp(-static_cast<double>(most - row[i]) * static_cast<double>(in_scale)), 23));
          };
          const auto real = [&](std::int64_t i) {
            return std::exp(static_cast<double>(in_scale) * (row[i] - most));
          };
          for (std::int64_t i = 0; i < count; i++) sum += e(i), real_sum += real(i);
          for (std::int64_t i = 0; i < count; i++) {
            const auto share =
                static_cast<float>(static_cast<double>(e(i)) / static_cast<double>(sum));
            const auto at = static_cast<std::size_t>(r * count + i);
            ASSERT_EQ(got[at], quantise(share, out_scale, -128, -128, 127)) << r << ", " << i;
            const auto exact = static_cast<float>(real(i) / real_sum);
            ASSERT_NEAR(got[at], quantise(exact, out_scale, -128, -128, 127), 1) << r << ", " << i;
          }
        }
      }
}

/// Whatever the axis, the bytes are those of the rows laid side by side.
TEST(SoftmaxCodes, AnyAxisGivesTheSameBytes) {
  std::mt19937 rng(seed());
  std::vector<std::int8_t> x(3 * 20 * 5);
  for (std::int8_t& c : x) c = static_cast<std::int8_t>(rng());
  const Tensor in = make_tensor<std::int8_t>(DType::i8, Shape{3, 20, 5}, x);
  const Graph direct = parse(R"((x: i8[3,20,5] q(0.04, 3)) {
    y: i8[3,20,5] q(0.002, -128) = Softmax(x, axis=1) return y })");
  const Graph turned = parse(R"((x: i8[3,20,5] q(0.04, 3)) {
    a: i8[3,5,20] q(0.04, 3) = Transpose(x, perm=[0,2,1])
    b: i8[3,5,20] q(0.002, -128) = Softmax(a)
    y: i8[3,20,5] q(0.002, -128) = Transpose(b, perm=[0,2,1]) return y })");
  EXPECT_EQ(evaluate(direct, std::span(&in, 1)), evaluate(turned, std::span(&in, 1)));
}

TEST(SoftmaxOnNpu, HasTheReferencesBytesInTilesOfAnySize) {
  const Graph g = parse(R"((x: i8[2,9,7,40] q(0.1, 3)) {
    a: i8[2,9,7,40] q(0.05, -5) = Tanh(x)
    b: i8[2,9,7,40] q(0.002, -128) = Softmax(a)
    y: i8[2,9,7,40] q(0.004, -20) = Sigmoid(b) return y })");
  for (const char* target : {"shore-1", "rk3588-like"})
    for (const std::uint32_t sram : {0u, 4096u}) {
      const plan::Plan p = expect_exact(g, load_target(target), sram, seed());
      EXPECT_TRUE(p.placement.nodes[1].on_npu());
      for (const plan::Layer& l : p.layers)
        EXPECT_TRUE(l.stages.front().form->name != "softmax" || l.tiling.channels == 40);
    }
}

TEST(SoftmaxOnNpu, RowsAlongAnotherAxisStayOnTheCpuWithAReason) {
  const Graph g = parse(R"((x: i8[1,20,9,7] q(0.1, 3)) {
    y: i8[1,20,9,7] q(0.004, -128) = Softmax(x, axis=2) return y })");
  const Placement p = place(g, load_target("shore-1"), {.by_price = false});
  ASSERT_FALSE(p.nodes[0].on_npu());
  const std::vector<Reason>& reasons = p.nodes[0].options.back().reasons;
  ASSERT_FALSE(reasons.empty());
  EXPECT_NE(reasons[0].text.find("axis 2"), std::string::npos) << reasons[0].text;
}

/// A row that no tile can hold is the CPU's.
TEST(SoftmaxOnNpu, RowsBeyondTheSramGoToTheCpu) {
  const Graph g = parse(R"((x: i8[4,6000] q(0.1, 3)) {
    y: i8[4,6000] q(0.001, -128) = Softmax(x) return y })");
  const plan::Plan p = expect_exact(g, load_target("shore-1"), 4096, seed());
  EXPECT_FALSE(p.placement.nodes[0].on_npu());
}

}  // namespace
}  // namespace longshore::tests::softmax_codes_test
