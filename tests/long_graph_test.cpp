// 20,000 nodes in a row. What walks the whole graph for each node or each rewrite takes minutes
// here, and hours where two such walks meet; the rest takes seconds.
#include <gtest/gtest.h>

#include "base/sanitizer.hpp"
#include "measure/compare.hpp"
#include "optimize/optimize.hpp"
#include "quantize/quantize.hpp"
#include "random.hpp"

namespace longshore::tests::long_graph_test {
namespace {

// Sanitizers make all of it slower, and what they look for does not wait for the length.
constexpr int length = address_sanitizer ? 2000 : 20000;

/// Of every five nodes three become one: each pass has thousands of rewrites.
Graph long_chain() {
  Graph g;
  ValueId x = g.add_input("x", TensorType(DType::f32, Shape{4}));
  const float one = 1;
  const auto number = [&] { return g.add_constant({}, make_floats({}, std::span(&one, 1))); };
  while (static_cast<int>(g.nodes.size()) < length) {
    x = g.add("Identity", {x}, {}, "same name");  // made unique
    x = g.add("Mul", {x, g.add("Sigmoid", {x})});
    x = g.add("Min", {g.add("Relu", {x}), number()});
  }
  g.outputs = {x};
  return g;
}

TEST(LongGraph, IsReadCheckedAndPrinted) {
  const Graph g = long_chain();
  verify(g);
  const std::string text = print(g);
  EXPECT_EQ(print(parse(text)), text);
}

TEST(LongGraph, IsOptimised) {
  const Graph g = long_chain(), better = optimize(g);
  verify(better);
  EXPECT_EQ(better.nodes.size(), g.nodes.size() / 5 * 2);
  const std::vector<Tensor> in = random_inputs(g, seed());
  EXPECT_EQ(evaluate(better, in)[0].shape, evaluate(g, in)[0].shape);
}

TEST(LongGraph, ShapeArithmeticIsFolded) {
  Graph g;
  const ValueId x = g.add_input("x", TensorType(DType::f32, Shape{2, 3}));
  ValueId v = g.add("Shape", {x});
  for (int i = 0; i < length; i++) v = g.add("Add", {v, g.add_constant({}, make_int(1))});
  g.outputs = {v};
  const Graph better = optimize(g);
  EXPECT_TRUE(better.nodes.empty());
  ASSERT_TRUE(better.constant(better.outputs[0]));
  EXPECT_EQ(better.constant(better.outputs[0])->values<std::int64_t>()[1], 3 + length);
}

TEST(LongGraph, EqualNodesOfOneInputAreFound) {
  Graph g;
  const ValueId x = g.add_input("x", TensorType(DType::f32, Shape{2}));
  ValueId sum = x;
  for (int i = 0; i < length / 2; i++) {
    const auto value = static_cast<float>(i);
    const ValueId c = g.add_constant({}, make_floats({}, std::span(&value, 1)));
    sum = g.add("Sum", {sum, g.add("Mul", {x, c})});
  }
  g.outputs = {sum};
  EXPECT_EQ(optimize(g).nodes.size(), static_cast<std::size_t>(length));
}

TEST(LongGraph, IsQuantisedAndCompared) {
  Graph g;
  ValueId x = g.add_input("x", TensorType(DType::f32, Shape{1, 4}));
  const float w[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
  x = g.add("MatMul", {x, g.add_constant({}, make_floats({4, 4}, w))});
  Attributes turn;
  turn.set("perm", Ints{1, 0});
  while (static_cast<int>(g.nodes.size()) < length) {
    x = g.add("Transpose", {g.add("Neg", {x})}, turn);
    x = g.add("Sub", {x, g.add("Sub", {x, x})});
  }
  g.outputs = {x};
  const std::vector<std::vector<Tensor>> samples = {random_inputs(g, seed()),
                                                    random_inputs(g, seed() + 1)};
  const Graph q = quantize(g, calibration_from(samples));
  EXPECT_EQ(compare_precision(g, q, samples).size(), g.nodes.size());
}

}  // namespace
}  // namespace longshore::tests::long_graph_test
