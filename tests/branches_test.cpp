// Branches that need not wait for each other take turns, or a core each; what they give is exact.
#include "base/text.hpp"
#include "npu_case.hpp"

namespace longshore::tests::branches_test {
namespace {

/// Two chains of small products, each of which wants all that the one before has made, and what is
/// made of both.
Graph two_chains() {
  return parse(R"((x: i8[1,64] q(0.1, 3)) {
    a: i8[1,64] q(0.2, -5) = Gemm(x, i8[64,64] q(0.01, 0) {1})
    b: i8[1,64] q(0.3, 4) = Gemm(a, i8[64,64] q(0.01, 0) {2})
    c: i8[1,64] q(0.2, 1) = Gemm(b, i8[64,64] q(0.01, 0) {1})
    d: i8[1,64] q(0.2, 2) = Gemm(x, i8[64,64] q(0.01, 0) {3})
    e: i8[1,64] q(0.3, 0) = Gemm(d, i8[64,64] q(0.01, 0) {1})
    f: i8[1,64] q(0.2, -1) = Gemm(e, i8[64,64] q(0.01, 0) {2})
    y: i8[1,128] q(0.2, 0) = Concat(c, f, axis=1) return y })");
}

plan::Plan planned(const Graph& g, const Target& target, bool branches) {
  return lower::timed_plan(place(g, target, {.by_price = false}),
                           {.cascade = false, .horizontal = false, .branches = branches});
}
double ns(const plan::Plan& p) { return predict(lower::lower(p))->total_ns; }

std::vector<std::size_t> layers_in_order(const plan::Plan& p) {
  std::vector<std::size_t> out;
  for (const plan::Item& i : p.items)
    if (i.npu && (out.empty() || out.back() != p.tasks[i.index].layer))
      out.push_back(p.tasks[i.index].layer);
  return out;
}

// On one core the chains alternate: a layer loads what the one before the last has stored.
TEST(Branches, TakeTurnsOnOneCore) {
  const Target target = load_target("rk3588-like");
  const plan::Plan plain = planned(two_chains(), target, false),
                   turned = planned(two_chains(), target, true);
  EXPECT_EQ(layers_in_order(plain), (std::vector<std::size_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(layers_in_order(turned), (std::vector<std::size_t>{0, 2, 1, 3, 4, 5}))
      << plan::print(turned);
  EXPECT_LT(ns(turned), ns(plain));
}

/// Two chains of six convolutions and what is made of both.
Graph two_long_chains() {
  std::string text = "(x: i8[1,32,14,14] q(0.1, 3)) {\n";
  std::array<std::string, 2> last = {"x", "x"};
  for (int i = 0; i < 6; i++)
    for (int chain = 0; chain < 2; chain++) {
      const std::string name = str("v", i, chain == 0 ? "a" : "b");
      text += str(name, ": i8[1,32,14,14] q(0.2, 1) = Conv(", last[static_cast<std::size_t>(chain)],
                  ", i8[32,32,3,3] q(0.01, 0) {1}, pads=[1,1,1,1])\n");
      last[static_cast<std::size_t>(chain)] = name;
    }
  return parse(
      str(text, "y: i8[1,32,14,14] q(0.5, 0) = Mul(", last[0], ", ", last[1], ") return y }"));
}

// Where shares of a layer are too small for what cores tell each other, each core has a branch.
TEST(Branches, HaveACoreEach) {
  const Target target = load_target("rk3588-3cores-like");
  const plan::Plan plain = planned(two_long_chains(), target, false),
                   turned = planned(two_long_chains(), target, true);
  std::set<std::uint32_t> cores;
  for (const plan::TileTask& t : turned.tasks) cores.insert(t.core);
  EXPECT_EQ(cores.size(), 2u) << plan::print(turned);
  EXPECT_TRUE(std::ranges::all_of(
      turned.layers, [](const plan::Layer& l) { return l.split == plan::Split::none; }));
  EXPECT_LT(ns(turned), ns(plain));
}

TEST(Branches, AreExact) {
  for (const char* target : {"rk3588-like", "rk3588-3cores-like", "shore-1"})
    for (const Graph& g : {two_chains(), two_long_chains()})
      expect_exact(g, load_target(target), 0, seed());
}

// The CPU works on one branch while the NPU has the other.
TEST(Branches, ACpuStepWaitsForNobody) {
  const Graph g = parse(R"((x: i8[1,32,28,28] q(0.1, 3)) {
    a: i8[1,32,28,28] q(0.2, -5) = Conv(x, i8[32,32,3,3] q(0.01, 0) {1}, pads=[1,1,1,1])
    s: i8[1,32,28,28] q(0.2, -5) = Sin(a)
    b: i8[1,32,28,28] q(0.3, 4) = Conv(a, i8[32,32,3,3] q(0.01, 0) {2}, pads=[1,1,1,1])
    t: i8[1,32,28,28] q(0.3, 4) = Conv(s, i8[32,32,3,3] q(0.01, 0) {2}, pads=[1,1,1,1])
    y: i8[1,32,28,28] q(0.5, 0) = Add(b, t) return y })");
  const Target target = load_target("rk3588-like");
  const plan::Plan p = planned(g, target, true);
  EXPECT_LE(ns(p), ns(planned(g, target, false)));
  expect_exact(g, target, 0, seed());
}

}  // namespace
}  // namespace longshore::tests::branches_test
