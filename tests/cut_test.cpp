// The least cut against all ways to share out a few vertices.
#include <gtest/gtest.h>

#include "base/cut.hpp"
#include "random.hpp"

namespace longshore::tests::cut_test {
namespace {

struct Case {
  struct Edge {
    std::size_t from, to;
    std::int64_t price;
  };
  std::vector<std::array<std::int64_t, 2>> prices;
  std::vector<Edge> edges;

  std::int64_t price(const std::vector<bool>& first) const {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < prices.size(); i++) sum += prices[i][first[i] ? 0 : 1];
    for (const Edge& e : edges)
      if (first[e.from] && !first[e.to]) sum += e.price;
    return sum;
  }
  std::vector<bool> ways(unsigned bits) const {
    std::vector<bool> out(prices.size());
    for (std::size_t i = 0; i < out.size(); i++) out[i] = (bits >> i & 1) != 0;
    return out;
  }
};

TEST(LeastCut, NoOtherWayIsCheaper) {
  for (unsigned repeat = 0; repeat < 300; repeat++) {
    std::mt19937 rng(seed() + repeat);
    const auto pick = [&](unsigned n) { return static_cast<std::uint32_t>(rng() % n); };
    Case c;
    const std::size_t count = 1 + pick(9);
    for (std::size_t i = 0; i < count; i++) {
      std::array<std::int64_t, 2> p = {pick(20), pick(20)};
      if (pick(8) == 0) p[pick(2)] = LeastCut::forbidden;
      c.prices.push_back(p);
    }
    for (std::size_t i = pick(20); i > 0; i--)
      c.edges.push_back(
          {pick(static_cast<unsigned>(count)), pick(static_cast<unsigned>(count)), pick(12)});
    LeastCut cut;
    for (const auto& [first, second] : c.prices) cut.add_prices(cut.add_vertex(), first, second);
    for (const Case::Edge& e : c.edges) cut.add_edge(e.from, e.to, e.price);
    const std::vector<bool> found = cut.first_side();
    ASSERT_EQ(found.size(), count);
    std::int64_t least = c.price(c.ways(0));
    for (unsigned bits = 1; bits < 1u << count; bits++)
      least = std::min(least, c.price(c.ways(bits)));
    EXPECT_EQ(c.price(found), least) << "seed " << seed() << " + " << repeat;
    // Of the cheapest ways it is the one with the most on the first side.
    for (unsigned bits = 0; bits < 1u << count; bits++)
      if (c.price(c.ways(bits)) == least) {
        for (std::size_t i = 0; i < count; i++) EXPECT_TRUE(found[i] || !c.ways(bits)[i]);
      }
  }
}

}  // namespace
}  // namespace longshore::tests::cut_test
