// Random graphs mean the same with every pass on and with all of them off.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <map>

#include "base/error.hpp"
#include "optimize/optimize.hpp"
#include "random.hpp"
#include "random_float_net.hpp"
#include "random_graph.hpp"
#include "random_net.hpp"

namespace longshore::tests::random_graphs_test {
namespace {

/// 2,000 with LONGSHORE_FULL set, a part of them otherwise.
unsigned rounds() { return std::getenv("LONGSHORE_FULL") ? 2000 : 150; }

void expect_same(const std::vector<Tensor>& got, const std::vector<Tensor>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t k = 0; k < got.size(); k++) {
    ASSERT_EQ(got[k].dtype, want[k].dtype);
    ASSERT_EQ(got[k].shape, want[k].shape);
    const auto a = got[k].values<float>(), b = want[k].values<float>();
    float largest = 0;
    for (float x : b)
      if (std::isfinite(x)) largest = std::max(largest, std::abs(x));
    // Folding changes the order of roundings; an error is relative to the largest number around.
    for (std::size_t i = 0; i < a.size(); i++)
      ASSERT_EQ(difference(a[i], b[i], 1e-5 + 2e-4 * static_cast<double>(largest)), "")
          << "output " << k << ", element " << i;
  }
}

TEST(RandomGraphs, MeanTheSameOptimised) {
  for (unsigned round = 0; round < rounds(); round++) {
    const unsigned graph_seed = seed() * 100003u + round;
    std::mt19937 random(graph_seed);
    const Graph g = random_graph(random);
    SCOPED_TRACE("seed " + std::to_string(graph_seed) + "\n" + print(g));
    verify(g);
    ASSERT_EQ(print(parse(print(g))), print(g));
    const Graph better = optimize(g, {.order_seed = graph_seed % 3});
    verify(better);
    const auto in = random_inputs(g, graph_seed);
    expect_same(evaluate(better, in), evaluate(g, in));
    if (testing::Test::HasFatalFailure()) {
      std::cout << "optimised:\n" << print(better);
      return;
    }
  }
}

/// What the nodes of a graph are: operators, and a Clip behind a Gemm (or in it).
void count_kinds(const Graph& g, std::map<std::string, int>& kinds) {
  for (const Node& n : g.nodes) {
    kinds[std::string(n.op->name)]++;
    const Node* before = n.op->name == "Clip" ? g.def(n.input(0)) : nullptr;
    if ((before && before->op->name == "Gemm") ||
        (n.op->name == "FusedGemm" && n.attributes.text("activation") == "Clip"))
      kinds["Gemm with Clip"]++;
  }
}

// What faults were found in before must go on being drawn by each of the three generators.
TEST(RandomGraphs, DrawEachKindThatMatters) {
  std::map<std::string, int> graphs, float_nets, nets;
  for (unsigned i = 0; i < 300; i++) {
    std::mt19937 first(i), second(i);
    count_kinds(random_graph(first), graphs);
    try {
      count_kinds(random_float_net(second), float_nets);
    } catch (const Error& e) {  // dims that do not fit one another
      EXPECT_NE(e.code(), Code::internal) << e.what();
    }
    count_kinds(RandomNet(i).make(), nets);
  }
  for (const char* kind : {"Pad", "Transpose", "Split", "MatMul", "Gemm with Clip"}) {
    EXPECT_GT(graphs[kind], 0) << kind;
    EXPECT_GT(float_nets[kind], 0) << kind;
    EXPECT_GT(nets[kind], 0) << kind;
  }
}

}  // namespace
}  // namespace longshore::tests::random_graphs_test
