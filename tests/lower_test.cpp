// The compiler's way to the NPU: what the simulator computes from the program's own instructions must
// be what the reference computes from the graph, byte for byte.
#include "npu_case.hpp"
#include "random_net.hpp"

namespace longshore::tests {
namespace {

TEST(Lower, OneConvolution) {
  const Graph g = parse(R"((x: i8[1,2,5,5] q(0.1, 3)) {
    y: i8[1,3,5,5] q(0.05, -5) = Conv(x, i8[3,2,2,2] q([0.02, 0.03, 0.04], [0, 0, 0], axis=0)
      {1,-2,3,4, 5,6,-7,8, 9,10,11,-12, 13,14,15,16, -17,18,19,20, 21,22,23,-24},
      i32[3] q([0.002, 0.003, 0.004], [0, 0, 0], axis=0) {10, -20, 30}, pads=[1,1,0,0]) return y })");
  const Target target = load_target("rk3588-like");
  const plan::Plan p = expect_exact(g, target, 0, seed());
  EXPECT_EQ(p.layers.size(), 1u);
}

// 300 nets over the suite; a run takes a share (LONGSHORE_NETS for all).
TEST(Lower, RandomNetsAreExactOnBothTargetsWithAnySram) {
  const char* given = std::getenv("LONGSHORE_NETS");
  const unsigned count = given ? static_cast<unsigned>(std::atoi(given)) : 30;
  const Target targets[] = {load_target("rk3588-like"), load_target("shore-1")};
  for (unsigned i = 0; i < count && !HasFailure(); i++) {
    const unsigned net = seed() * 1000 + i;
    std::mt19937 rng(net);
    const Target& target = targets[i % 2];
    const std::uint32_t sram[] = {0, 65536, 16384, 6144, 2048};
    const std::uint32_t bytes = sram[rng() % 5];
    SCOPED_TRACE("net " + std::to_string(net) + " on " + target.name + " with SRAM " + std::to_string(bytes));
    const Graph g = RandomNet(net).make();
    expect_exact(g, target, bytes, net, rng() % 4 != 0);
  }
}

}  // namespace
}  // namespace longshore::tests
