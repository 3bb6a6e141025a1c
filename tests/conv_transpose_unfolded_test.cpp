// ConvTranspose as convolutions whose results lie side by side: the same numbers, and nothing that
// an NPU would have to move.
#include <gmock/gmock.h>

#include "npu_case.hpp"
#include "onnx_model.hpp"
#include "optimize/optimize.hpp"
#include "plan/plan.hpp"
#include "quantize/quantize.hpp"
#include "random.hpp"

namespace longshore::tests::conv_transpose_unfolded_test {
namespace {

std::size_t count(const Graph& g, std::string_view op) {
  return static_cast<std::size_t>(
      std::ranges::count_if(g.nodes, [&](const Node& n) { return n.op->name == op; }));
}

Graph with_random_constants(Graph g, std::mt19937& rng) {
  for (std::size_t i = 0; i < g.values.size(); i++)
    if (const Tensor* t = g.constant(ValueId(i)))
      g.values[i].constant = random_tensor(rng, t->dtype, t->shape);
  return g;
}

TEST(ConvTransposeUnfolded, GivesTheSameNumbers) {
  std::size_t unfolded = 0;
  for (unsigned repeat = 0; repeat < 200; repeat++) {
    std::mt19937 rng(seed() + repeat);
    const auto pick = [&](int low, int high) {
      return low + static_cast<int>(rng() % static_cast<unsigned>(high - low + 1));
    };
    const int in = pick(1, 4), out = pick(1, 3), kh = pick(1, 5), kw = pick(1, 5), sh = pick(1, 3),
              sw = pick(1, 3), batch = pick(1, 2);
    // Half of them grow by their strides alone.
    const bool grows = pick(0, 1) == 1;
    const auto border = [&](int kernel, int stride) {
      return std::array{std::max(0, kernel - stride) / 2, 0, std::max(0, stride - kernel)};
    };
    std::array<int, 3> top = border(kh, sh), left = border(kw, sw);
    top[1] = std::max(0, kh - sh) - top[0], left[1] = std::max(0, kw - sw) - left[0];
    if (!grows) top[0] = pick(0, (kh - 1) / 2), left[1] = pick(0, (kw - 1) / 2);
    const Graph g = parse(str(
        "(x: f32[", batch, ",", in, ",", pick(1, 6), ",", pick(1, 6), "]) { a = ConvTranspose(x, ",
        "f32[", in, ",", out, ",", kh, ",", kw, "]{0.5}, f32[", out, "]{0.25}, strides=[", sh, ",",
        sw, "], pads=[", top[0], ",", left[0], ",", top[1], ",", left[1], "], output_padding=[",
        std::min(top[2], sh - 1), ",", std::min(left[2], sw - 1), "]) y = Sigmoid(a) return y }"));
    const Graph random = with_random_constants(g, rng);
    const Graph optimised = optimize(random);
    unfolded += count(optimised, "ConvTranspose") == 0;
    const std::vector<Tensor> x = {random_tensor(rng, DType::f32, *g[g.inputs[0]].type.shape())};
    const std::vector<Tensor> want = evaluate(random, x), got = evaluate(optimised, x);
    ASSERT_EQ(got[0].shape, want[0].shape) << print(g);
    for (std::int64_t i = 0; i < got[0].shape.elements(); i++)
      ASSERT_NEAR(got[0].values<float>()[static_cast<std::size_t>(i)],
                  want[0].values<float>()[static_cast<std::size_t>(i)], 1e-5)
          << print(g);
  }
  EXPECT_GT(unfolded, 40u);
}

Graph quantised(const Graph& g) {
  std::mt19937 rng(seed());
  const std::vector<Tensor> sample = {random_tensor(rng, DType::f32, *g[g.inputs[0]].type.shape())};
  return quantize(g, calibration_from({sample}));
}

// Phases that read the same inputs, and those that do not.
TEST(ConvTransposeUnfolded, MovesNothingOnTheNpu) {
  for (const auto& [window, convs] :
       {std::pair{"strides=[2,2]) ", 2u}, std::pair{"strides=[2,2], pads=[1,1,1,1]) ", 4u}}) {
    const std::int64_t k = convs == 2 ? 2 : 4;
    std::mt19937 rng(seed());
    const Graph net = parse(str("(x: f32[1,8,9,7]) { c = ConvTranspose(x, f32[8,16,", k, ",", k,
                                "]{0.1}, f32[16]{0.5}, ", window,
                                "r = Relu(c) y = Conv(r, f32[8,16,3,3]{0.1}, pads=[1,1,1,1]) "
                                "return y }"));
    const Graph g = optimize(with_random_constants(net, rng));
    EXPECT_EQ(count(g, "ConvTranspose"), 0u);
    EXPECT_EQ(count(g, "FusedConv"), convs);
    for (const char* target : {"shore-1", "rk3588-like"}) {
      const plan::Plan p = expect_exact(quantised(g), load_target(target), 0, seed());
      EXPECT_EQ(p.layers.size(), convs + 1) << plan::print(p);
    }
  }
}

}  // namespace
}  // namespace longshore::tests::conv_transpose_unfolded_test
