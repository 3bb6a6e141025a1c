// Operators that passes write in other words: the same numbers over random shapes, and images in
// rows of other lengths that nothing moves.
#include <gmock/gmock.h>

#include "base/error.hpp"
#include "npu_case.hpp"
#include "optimize/optimize.hpp"
#include "random.hpp"

namespace longshore::tests::rearranged_operators_test {
namespace {

std::size_t count(const Graph& g, std::string_view op) {
  return static_cast<std::size_t>(
      std::ranges::count_if(g.nodes, [&](const Node& n) { return n.op->name == op; }));
}

struct Picker {
  std::mt19937 rng;
  int operator()(int low, int high) {
    return low + static_cast<int>(rng() % static_cast<unsigned>(high - low + 1));
  }
};

/// Random numbers for all constants of the graph that are floats; how often `op` is left.
std::size_t left_after_optimising(Picker& pick, std::string_view text, std::string_view op) {
  Graph g = parse(text);
  for (Value& v : g.values)
    if (v.constant.present() && v.constant.dtype == DType::f32)
      v.constant = random_tensor(pick.rng, DType::f32, v.constant.shape);
  const Graph optimised = optimize(g);
  std::vector<Tensor> inputs;
  for (ValueId v : g.inputs)
    inputs.push_back(random_tensor(pick.rng, DType::f32, *g[v].type.shape()));
  const std::vector<Tensor> want = evaluate(g, inputs), got = evaluate(optimised, inputs);
  EXPECT_EQ(got[0].shape, want[0].shape) << text;
  for (std::size_t i = 0; i < want[0].values<float>().size(); i++)
    EXPECT_NEAR(got[0].values<float>()[i], want[0].values<float>()[i], 1e-4) << text;
  return count(optimised, op);
}

TEST(RearrangedOperators, DilatedConvolutionsAlongOneAxis) {
  std::size_t left = 0;
  for (unsigned repeat = 0; repeat < 150; repeat++) {
    Picker pick{std::mt19937(seed() + repeat)};
    const int gap = pick(0, 1) ? pick(2, 5) : pick(30, 40), kernel = pick(1, 4),
              groups = pick(1, 2), in = groups * pick(1, 3), out = groups * pick(1, 3);
    const bool even = pick(0, 1);
    const int begin = even ? gap * pick(0, 1) : pick(0, gap),
              width = even ? gap * pick(4, 6) : gap * 4 + pick(0, gap);
    left += left_after_optimising(
        pick,
        str("(x: f32[", pick(1, 2), ",", in, ",", width, "]) { a = Conv(x, f32[", out, ",",
            in / groups, ",", kernel, "]{1}, f32[", out, "]{1}, dilations=[", gap, "], pads=[",
            begin, ",", even ? 0 : pick(0, 3), "], group=", groups, ") y = Relu(a) return y }"),
        "Pad");
  }
  EXPECT_GT(left, 5u);  // those with wide gaps that come out uneven
}

TEST(RearrangedOperators, EinsumsOfTwoTensors) {
  std::size_t left = 0;
  for (unsigned repeat = 0; repeat < 200; repeat++) {
    Picker pick{std::mt19937(seed() + repeat)};
    // Each letter is in some of a, b and the result; all three orders are drawn.
    std::array<std::string, 3> terms;
    std::array<int, 5> sizes{};
    for (int letter = 0; letter < 5; letter++) {
      sizes[static_cast<std::size_t>(letter)] = pick(1, 4);
      constexpr int in[] = {0b111, 0b011, 0b101, 0b110, 0b001};
      const int where = in[pick(0, 99) < 97 ? pick(0, 3) : 4];
      for (int t = 0; t < 3; t++)
        if (where >> t & 1) terms[static_cast<std::size_t>(t)] += static_cast<char>('a' + letter);
    }
    for (std::string& t : terms) std::ranges::shuffle(t, pick.rng);
    const auto type = [&](const std::string& term) {
      std::string dims;
      for (char c : term)
        dims +=
            (dims.empty() ? "" : ",") + std::to_string(sizes[static_cast<std::size_t>(c - 'a')]);
      return "f32[" + dims + "]";
    };
    left += left_after_optimising(
        pick,
        str("(p: ", type(terms[0]), ", q: ", type(terms[1]), ") { y = Einsum(p, q, equation=\"",
            terms[0], ",", terms[1], "->", terms[2], "\") return y }"),
        "Einsum");
  }
  EXPECT_LT(left, 60u);
  EXPECT_GT(left, 0u);
}

TEST(RearrangedOperators, BatchNormalizationsAndTransposedConvolutionsAlongOneAxis) {
  for (unsigned repeat = 0; repeat < 60; repeat++) {
    Picker pick{std::mt19937(seed() + repeat)};
    const int channels = pick(1, 4), kernel = pick(1, 4), stride = pick(1, 3);
    EXPECT_EQ(left_after_optimising(
                  pick,
                  str("(x: f32[", pick(1, 2), ",", channels, ",", pick(1, 5),
                      "]) { r = Relu(x) a = "
                      "ConvTranspose(r, f32[",
                      channels, ",2,", kernel, "]{1}, strides=[", stride, "], pads=[",
                      pick(0, (kernel - 1) / 2),
                      ",0]) b = Relu(a) y = "
                      "BatchNormalization(b, f32[2]{1}, f32[2]{1}, f32[2]{1}, f32[2]{1}, "
                      "epsilon=100.0) return y }"),
                  "BatchNormalization"),
              0u);
  }
}

/// 24 pixels in rows of 4 between two convolutions, and as one row for the sum.
constexpr std::string_view rows_of_other_lengths = R"((x: i8[1,4,6,4] q(0.1, 3)) {
  a: i8[1,6,6,4] q(0.05, 1) = Conv(x, i8[6,4,3,1] q(0.02, 0) {5}, pads=[1,0,1,0])
  b: i8[1,6,24] q(0.05, 1) = Reshape(a, i64[3]{1, 6, 24})
  c: i8[1,6,24] q(0.02, 0) = Sigmoid(b)
  d: i8[1,6,24] q(0.04, 2) = Add(b, c)
  e: i8[1,6,3,8] q(0.04, 2) = Reshape(d, i64[4]{1, 6, 3, 8})
  y: i8[1,5,3,8] q(0.03, 2) = Conv(e, i8[5,6,1,1] q(0.1, 0) {3}) return y })";

TEST(RearrangedOperators, AnImageInRowsOfOtherLengthsIsAViewAsTheNpuLaysItOut) {
  const Target target = load_target("shore-1");
  const plan::Plan plan = expect_exact(parse(rows_of_other_lengths), target, 0, seed());
  const Graph& g = plan.placement.graph;
  for (std::size_t i = 0; i < g.values.size(); i++) {
    const Value& v = g.values[i];
    if (v.name.size() != 1 || v.name == "x" || v.name == "y") continue;
    EXPECT_EQ(v.order, AxisOrder::channels_first) << v.name;
    EXPECT_FALSE(plan.dense[i]) << v.name;
  }
}

/// A view of a view: the first has an axis of one more, the second other rows; the model gives it,
/// so that all lie as the CPU wants them.
TEST(RearrangedOperators, AViewInOtherRowsOfAViewWithAnAxisOfOneMore) {
  expect_exact(parse(R"((x: i8[1,4,15] q(0.1, 3)) {
    a: i8[1,6,15] q(0.05, 1) = Conv(x, i8[6,4,1] q(0.02, 0) {5})
    b: i8[1,6,1,15] q(0.05, 1) = Reshape(a, i64[4]{1, 6, 1, 15})
    c: i8[1,6,3,5] q(0.05, 1) = Reshape(b, i64[4]{1, 6, 3, 5})
    d: i8[1,6,1,15] q(0.02, 0) = Sigmoid(b)
    e: i8[1,6,3,5] q(0.02, 0) = Sigmoid(c)
    return c, d, e })"),
               load_target("shore-1"), 0, seed());
}

}  // namespace
}  // namespace longshore::tests::rearranged_operators_test
