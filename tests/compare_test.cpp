#include "measure/compare.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "measure/runner.hpp"
#include "random.hpp"

namespace longshore::tests::compare_test {
namespace {

using testing::HasSubstr;

Tensor bytes_of(const Shape& shape, std::vector<std::int8_t> codes) {
  return make_tensor<std::int8_t>(DType::i8, shape, codes);
}

TEST(Difference, CountsBytesAndNamesTheFirstElement) {
  Difference d;
  const Tensor want = bytes_of({2, 3}, {1, 2, 3, 4, 5, 6}),
               got = bytes_of({2, 3}, {1, 2, 3, 4, -5, 7});
  d.add(want.view(), want.view(), {}, 0);
  d.add(got.view(), want.view(), {}, 1);
  EXPECT_FALSE(d.equal());
  EXPECT_EQ(d.elements, 12);
  EXPECT_EQ(d.different, 2);
  EXPECT_EQ(d.different_bytes, 2);
  ASSERT_TRUE(d.first);
  EXPECT_EQ(d.first->sample, 1u);
  EXPECT_EQ(print(d.first->at), "[1,1]");
  EXPECT_EQ(d.first->got, -5);
  EXPECT_EQ(d.first->want, 5);
  EXPECT_EQ(d.max_abs, 10);
  EXPECT_EQ(d.max_rel, 2);
}

// want (3, 4), got (3, 5): signal 25, noise 1; cosine (9 + 20) / (5 * sqrt(34)).
TEST(Difference, MeasuresFloats) {
  Difference d;
  const float want[] = {3, 4}, got[] = {3, 5};
  d.add(make_floats({2}, got).view(), make_floats({2}, want).view(), {false, 0.1, 0, 0}, 0);
  EXPECT_EQ(d.different, 1);
  EXPECT_EQ(d.max_abs, 1);
  EXPECT_EQ(d.max_rel, 0.25);
  EXPECT_NEAR(d.sqnr_db(), 13.9794, 1e-4);
  EXPECT_NEAR(d.cosine(), 29 / (5 * std::sqrt(34.0)), 1e-12);
}

TEST(Difference, TakesFloatsWithinTheBoundAndNanForNan) {
  const float nan = std::nanf(""), inf = std::numeric_limits<float>::infinity();
  const float want[] = {1, nan, inf, 0, 2}, near[] = {1.0009f, -nan, inf, 1e-7f, 2},
              far[] = {1, 0, -inf, 0, nan};
  Difference d;
  d.add(make_floats({5}, near).view(), make_floats({5}, want).view(), {false, 1e-3, 1e-6, 0}, 0);
  EXPECT_TRUE(d.equal());
  EXPECT_EQ(d.different_bytes, 0);
  d.add(make_floats({5}, far).view(), make_floats({5}, want).view(), {false, 1e-3, 1e-6, 0}, 0);
  EXPECT_EQ(d.different, 3);
  EXPECT_EQ(print(d.first->at), "[1]");
}

TEST(Difference, NanAndInfinityForAnythingElseAreInfiniteErrors) {
  constexpr float inf = std::numeric_limits<float>::infinity(),
                  nan = std::numeric_limits<float>::quiet_NaN();
  const Bound bound{.exact = false, .rtol = 1e-3};
  const auto differ = [&](float got, float want) {
    Difference d;
    d.add(make_floats({2}, std::vector<float>{1, got}).view(),
          make_floats({2}, std::vector<float>{1, want}).view(), bound, 0);
    EXPECT_EQ(d.equal(), d.sqnr_db() > 0) << got << " for " << want;
    EXPECT_EQ(d.equal(), d.max_abs == 0) << got << " for " << want;
    return !d.equal();
  };
  for (const float x : {nan, inf, -inf}) {
    EXPECT_FALSE(differ(x, x));
    EXPECT_TRUE(differ(x, 1));
    EXPECT_TRUE(differ(1, x));
  }
  EXPECT_TRUE(differ(inf, -inf));
  EXPECT_TRUE(differ(nan, inf));
}

TEST(Difference, ErrorsOfWholeRunsAreMeasuredByTheLargestElement) {
  const float want[] = {100, 0}, near[] = {100, 0.009f}, far[] = {100, 0.011f};
  Difference d;
  d.add(make_floats({2}, near).view(), make_floats({2}, want).view(), {false, 0, 0, 1e-4}, 0);
  EXPECT_TRUE(d.equal());
  d.add(make_floats({2}, far).view(), make_floats({2}, want).view(), {false, 0, 0, 1e-4}, 0);
  EXPECT_EQ(d.different, 1);
  EXPECT_EQ(d.largest, 100);
}

TEST(Difference, BytesAreStricterThanNumbers) {
  const float want[] = {0.0f}, got[] = {-0.0f};
  Difference exact, bounded;
  exact.add(make_floats({1}, got).view(), make_floats({1}, want).view(), {}, 0);
  bounded.add(make_floats({1}, got).view(), make_floats({1}, want).view(), {false, 0, 0, 0}, 0);
  EXPECT_EQ(exact.different_bytes, 1);
  EXPECT_TRUE(bounded.equal());
}

TEST(Difference, OtherDimsMakeEveryByteDifferent) {
  Difference d;
  d.add(bytes_of({3}, {1, 2, 3}).view(), bytes_of({2}, {1, 2}).view(), {}, 0);
  EXPECT_EQ(d.different_bytes, 2);
  EXPECT_THAT(d.mismatch, HasSubstr("i8[3], want i8[2]"));
  EXPECT_LT(d.sqnr_db(), 0);
}

Graph chain() {
  return parse("(x: f32[2,3]) { a = Relu(x)  b = Add(a, x)  c = Relu(b)  d = Add(c, a) return d }");
}

/// Runs it as `evaluate` does and adds `error` to each output of operator `op` of the node alone.
RunNode with_fault(const std::string& op, float error) {
  return [=](const Graph& g, std::span<const Tensor> in) {
    std::vector<Tensor> out = evaluate(g, in);
    if (g.nodes[0].op->name != op) return out;
    std::vector<float> changed(out[0].values<float>().begin(), out[0].values<float>().end());
    changed.back() += error;
    out[0] = make_floats(out[0].shape, changed);
    return out;
  };
}

TEST(Compare, AWholeRunThatAgreesHasEveryLayerEqual) {
  const Graph g = chain();
  Comparison c(g, Strictness::bytes);
  for (unsigned s = 0; s < 3; s++) {
    const std::vector<Tensor> in = random_inputs(g, seed() + s);
    c.add_entire(in, reference_values(g, in));
  }
  const auto layers = c.layers();
  const Totals t = total(layers);
  EXPECT_EQ(t.layers, 4u);
  EXPECT_EQ(t.bytes, 4 * 3 * 6 * 4);
  EXPECT_EQ(t.different_bytes, 0);
  EXPECT_EQ(t.first, nullptr);
  EXPECT_TRUE(c.missing().empty());
}

TEST(Compare, NamesTheFirstLayerThatDiffersAndThoseThatAreMissing) {
  const Graph g = chain();
  const std::vector<Tensor> in = random_inputs(g, seed());
  Values got = reference_values(g, in);
  got.erase("a");
  std::vector<float> b(got.at("b").values<float>().begin(), got.at("b").values<float>().end());
  b[4] += 1;
  got["b"] = make_floats({2, 3}, b);
  Comparison c(g, Strictness::bytes);
  c.add_entire(in, got);
  const auto layers = c.layers();
  const Totals t = total(layers);
  EXPECT_EQ(t.layers, 3u);
  EXPECT_EQ(t.different_layers, 1u);
  ASSERT_NE(t.first, nullptr);
  EXPECT_EQ(t.first->value, "b");
  EXPECT_THAT(describe(*t.first), HasSubstr("(Add): value 'b' at [1,1], sample 0: got "));
  EXPECT_EQ(c.missing(), (std::vector<NotCompared>{{"a", ""}}));
}

TEST(Compare, AValueThatIsGivenOnceButNotAlwaysIsMissing) {
  const Graph g = chain();
  Comparison c(g, Strictness::bytes);
  const std::vector<Tensor> in = random_inputs(g, seed());
  Values got = reference_values(g, in);
  c.add_entire(in, got);
  got.erase("c");
  c.add_entire(in, got);
  EXPECT_EQ(total(c.layers()).layers, 4u);
  EXPECT_EQ(c.missing(), (std::vector<NotCompared>{{"c", ""}}));
}

TEST(Compare, WhatHasNoBytesIsMissingForAReason) {
  const Graph g = parse("(x: f32[0,3]) { a = Relu(x) y = Neg(a) return y }");
  Comparison nothing(g, Strictness::bytes);
  nothing.add_entire(random_inputs(g, seed()), {});
  ASSERT_EQ(nothing.missing().size(), 2u);
  EXPECT_FALSE(nothing.missing()[0].reason.empty());
}

TEST(Compare, SingleFeedsEachNodeWithTheReference) {
  const Graph g = chain();
  const std::vector<Tensor> in = random_inputs(g, seed());
  Comparison right(g, Strictness::op_bounds), wrong(g, Strictness::op_bounds);
  right.add_single(in, with_fault("none", 1));
  EXPECT_EQ(total(right.layers()).different_layers, 0u);
  wrong.add_single(in, with_fault("Relu", 1));  // what Add makes of it stays right
  const auto layers = wrong.layers();
  ASSERT_EQ(layers.size(), 4u);
  for (const LayerDifference& l : layers)
    EXPECT_EQ(l.difference.equal(), l.op != "Relu") << describe(l);
}

TEST(Compare, SingleTakesFloatsWithinTheOperatorsBoundOnly) {
  const Graph g = parse("(x: f32[4]) { y = Relu(x) return y }");
  const float ones[] = {1, 1, 1, 1};
  const std::vector<Tensor> in = {make_floats({4}, ones)};
  const OpDef& relu = op_named("Relu");
  Comparison inside(g, Strictness::op_bounds), outside(g, Strictness::op_bounds),
      strict(g, Strictness::bytes);
  inside.add_single(in, with_fault("Relu", 0.9f * (relu.float_atol + relu.float_rtol)));
  outside.add_single(in, with_fault("Relu", 1.1f * (relu.float_atol + relu.float_rtol)));
  strict.add_single(in, with_fault("Relu", 1e-6f));
  EXPECT_EQ(total(inside.layers()).different_layers, 0u);
  EXPECT_EQ(total(outside.layers()).different_layers, 1u);
  EXPECT_EQ(total(strict.layers()).different_layers, 1u);
}

/// 1000 - 1000 is 0 only to the digits that 1000 has.
TEST(Compare, SumsThatCancelAreMeasuredByTheLargest) {
  const Graph g =
      parse("(x: f32[1,2]) { w = f32[2,2] {1, 1, 1, -1} y = MatMul(x, w) return y }");  // 2000, 0
  const float x[] = {1000, 1000};
  const std::vector<Tensor> in = {make_floats({1, 2}, x)};
  const float bound = op_named("MatMul").float_rtol / 20 * 2000;
  Comparison inside(g, Strictness::op_bounds), outside(g, Strictness::op_bounds);
  inside.add_single(in, with_fault("MatMul", 0.9f * bound));
  outside.add_single(in, with_fault("MatMul", 1.1f * bound));
  EXPECT_EQ(total(inside.layers()).different_layers, 0u);
  EXPECT_EQ(total(outside.layers()).different_layers, 1u);
}

TEST(Compare, ANodeAloneKeepsWhatItsSubgraphsCapture) {
  const Graph g = parse(
      "(c: bool[], x: f32[3]) { b = Relu(x)  y = If(c) then_branch=() { a = Add(x, b) return a } "
      "else_branch=() { a = Add(b, b) return a } return y }");
  std::vector<ValueId> from;
  const Graph alone = single_node(g, g.nodes[1], from);
  verify(alone);
  EXPECT_EQ(from.size(), 3u);
  Comparison c(g, Strictness::bytes);
  c.add_single(random_inputs(g, seed()), with_fault("none", 0));
  EXPECT_EQ(total(c.layers()).different_layers, 0u);
  EXPECT_EQ(c.layers().size(), 2u);
}

TEST(Compare, ANodeWithSubgraphsIsJudgedAsAWholeRun) {
  const Graph g = parse(
      "(c: bool[], x: f32[2]) { y = If(c) then_branch=() { a = Add(x, x) return a } else_branch=() "
      "{ a = Neg(x) return a } return y }");
  const float x[] = {100, 1};
  const std::vector<Tensor> in = {random_inputs(g, seed())[0], make_floats({2}, x)};
  Comparison inside(g, Strictness::op_bounds), outside(g, Strictness::op_bounds);
  inside.add_single(in, with_fault("If", 0.009f));  // of 100 or 200
  outside.add_single(in, with_fault("If", 0.03f));
  EXPECT_EQ(total(inside.layers()).different_layers, 0u);
  EXPECT_EQ(total(outside.layers()).different_layers, 1u);
}

// A node's example is a case here, too: the CPU engine against the reference, node by node.
TEST(Compare, EveryExampleOnTheCpuNodeByNode) {
  const RunNode cpu = [](const Graph& g, std::span<const Tensor> in) { return Runner(g).run(in); };
  for (const OpDef* op : ops::all())
    for (std::string_view text : op->examples) {
      const Graph g = parse(text);
      Comparison c(g, Strictness::op_bounds);
      c.add_single(random_inputs(g, seed()), cpu);
      for (const LayerDifference& l : c.layers())
        EXPECT_TRUE(l.difference.equal()) << text << "\n" << describe(l);
    }
}

constexpr std::string_view float_graph =
    "(x: f32[1,4]) { s = Add(x, x)  r = Relu(s)  t = Add(r, x) return t }";
// What quantize makes of it: Relu is absorbed by the Add before it.
constexpr std::string_view quantised_graph =
    "(x: f32[1,4]) { x_q: i8[1,4] q(0.0625, 0) = longshore.Quantize(x)  s: i8[1,4] q(0.0625, -128) "
    "= Add(x_q, x_q)  "
    "t_q: i8[1,4] q(0.125, 0) = Add(s, x_q)  t = longshore.Dequantize(t_q) return t }";

TEST(Compare, PrecisionHoldsCodesAgainstTheFloatValueOfThatName) {
  const Graph f = parse(float_graph);
  const Graph q = parse(quantised_graph);
  const float x[] = {-1, 0.5f, 2, 0.03f};
  const std::vector<std::vector<Tensor>> samples = {{make_floats({1, 4}, x)}};
  const auto layers = compare_precision(f, q, samples);
  ASSERT_EQ(layers.size(), 2u);
  EXPECT_EQ(layers[0].value, "s");
  // Against r = relu(2x) = (0, 1, 4, 0.06): codes give (0, 1, 4, 0), for 0.03 has code 0.
  EXPECT_NEAR(layers[0].difference.max_abs, 0.06, 1e-6);
  EXPECT_NEAR(layers[0].difference.sqnr_db(), 10 * std::log10((17 + 0.0036) / 0.0036), 1e-3);
  EXPECT_EQ(layers[1].value, "t_q");
  // t = r + x = (-1, 1.5, 6, 0.09): codes give (-1, 1.5, 6, 0).
  EXPECT_NEAR(layers[1].difference.max_abs, 0.09, 1e-6);
}

}  // namespace
}  // namespace longshore::tests::compare_test
