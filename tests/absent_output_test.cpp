// A node whose first output nobody wants: passes and engines must not take it for granted.
#include <gtest/gtest.h>

#include "measure/runner.hpp"
#include "optimize/optimize.hpp"
#include "random.hpp"

namespace longshore::tests::absent_output_test {
namespace {

TEST(AbsentOutput, OptimisesAndRuns) {
  const Graph g = parse(R"((x: f32[2,1,3], w: f32[1,12,3], r: f32[1,12,4]) {
    _, h = GRU(x, w, r, hidden_size=4)
    y = Relu(h)
    return y, h
  })");
  const std::vector<Tensor> in = random_inputs(g, seed());
  const std::vector<Tensor> want = evaluate(g, in);
  const Graph optimised = optimize(g);
  verify(optimised);
  EXPECT_EQ(evaluate(optimised, in), want);
  EXPECT_EQ(Runner(optimised).run(in).size(), want.size());
}

}  // namespace
}  // namespace longshore::tests::absent_output_test
