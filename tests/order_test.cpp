// Which axis of a value is walked as channels: what forms wish, what they share, and who gives way.
#include <gmock/gmock.h>

#include "npu_case.hpp"

namespace longshore::tests::order_test {
namespace {

using testing::HasSubstr;

ValueId named(const Graph& g, std::string_view name) {
  for (std::size_t i = 0; i < g.values.size(); i++)
    if (g.values[i].name == name) return ValueId(i);
  ADD_FAILURE() << "no value " << name;
  return no_value;
}

Placement placed(std::string_view text) {
  return place(parse(text), load_target("shore-1"), {.by_price = false});
}

AxisOrder order_of(const Placement& p, std::string_view name) {
  return p.graph[named(p.graph, name)].order;
}

/// Features of 15 tokens are made by a convolution and multiplied by a matrix.
constexpr std::string_view tokens_of_an_image = R"((x: i8[1,4,3,5] q(0.1, 3)) {
  a: i8[1,6,3,5] q(0.05, 1) = Conv(x, i8[6,4,1,1] q(0.02, 0) {5})
  b: i8[1,6,15] q(0.05, 1) = Reshape(a, i64[3]{1, 6, 15})
  c: i8[1,15,6] q(0.05, 1) = Transpose(b, perm=[0,2,1])
  d: i8[1,15,6] q(0.02, 0) = Sigmoid(c)
  y: i8[1,15,8] q(0.03, 2) = MatMul(d, i8[6,8] q(0.1, 0) {3}) return y })";

TEST(Order, ImagesHaveTheirChannelsFirstAndRowsOfFeaturesLast) {
  const Placement p = placed(tokens_of_an_image);
  for (const char* image : {"x", "a"}) EXPECT_EQ(order_of(p, image), AxisOrder::channels_first);
  for (const char* rows : {"c", "d", "y"}) EXPECT_EQ(order_of(p, rows), AxisOrder::channels_last);
}

TEST(Order, NothingIsCopiedBetweenAnImageAndItsTokens) {
  const Target target = load_target("shore-1");
  const plan::Plan plan = expect_exact(parse(tokens_of_an_image), target, 0, seed());
  ASSERT_EQ(plan.layers.size(), 3u);  // the convolution, the table, the product
  for (const plan::Layer& l : plan.layers) EXPECT_TRUE(l.stages.front().form->cycles);
}

TEST(Order, AProductKeepsTheTokensOfAllSentencesInOneWalk) {
  const Placement p = placed(R"((x: i8[2,7,3] q(0.5, 3)) {
    y: i8[2,7,4] q(0.5, 4) = MatMul(x, i8[3,4] q(0.25, 0) {2}) return y })");
  ASSERT_TRUE(p.nodes[0].on_npu());
  EXPECT_EQ(forms::extent_of(p.graph[named(p.graph, "x")]), (forms::Extent{2, 1, 7, 3}));
}

/// The two products want their common sum in other orders: the larger one has its way.
std::string sum_of_products(int filters) {
  const std::string f = std::to_string(filters);
  return "(x: i8[1," + f +
         ",16] q(0.1, 3), z: i8[1,4,9] q(0.1, 3)) {\n"
         "  a: i8[1,4,16] q(0.1, 0) = Conv(x, i8[4," +
         f +
         ",1] q(0.02, 0) {5})\n"
         "  b: i8[1,4,16] q(0.1, 0) = MatMul(z, i8[9,16] q(0.1, 0) {3})\n"
         "  y: i8[1,4,16] q(0.2, 0) = Add(a, b) return y }";
}

TEST(Order, TheLargerProductHasItsWayAndTheOtherSaysWhyItGaveWay) {
  for (const bool conv_wins : {true, false}) {
    const Placement p = placed(sum_of_products(conv_wins ? 64 : 2));
    const std::size_t loser = conv_wins ? 1 : 0;
    EXPECT_TRUE(p.nodes[1 - loser].on_npu());
    ASSERT_FALSE(p.nodes[loser].on_npu());
    EXPECT_THAT(p.nodes[loser].reasons().front().text,
                HasSubstr(conv_wins ? "walk 'z' channels first, it channels last"
                                    : "walk 'x' channels last, it channels first"));
    expect_exact(p.graph, p.target, 0, seed());
  }
}

TEST(Order, ProductsByMatricesOfMoreDimsStayOnTheCpu) {
  const Placement p = placed(R"((x: i8[2,3,4] q(0.5, 3)) {
    y: i8[2,3,5] q(0.5, 4) = MatMul(x, i8[2,4,5] q(0.25, 0) {2}) return y })");
  ASSERT_FALSE(p.nodes[0].on_npu());
  EXPECT_THAT(p.nodes[0].reasons().front().text, HasSubstr("rank"));
}

}  // namespace
}  // namespace longshore::tests::order_test
