#include "compile/cliffs.hpp"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "base/error.hpp"

namespace longshore::compile::cliffs_test {
namespace {

TEST(Cliffs, AreJumpsBetweenNeighboursOnly) {
  // 10 to 20 is a jump of 2 up, 20 to 14 one of 1.43 down; 8 and 10 are no neighbours.
  const std::vector<SizeTime> times = {{5, 10}, {6, 20}, {7, 14}, {8, 15}, {10, 90}};
  const std::vector<Cliff> found = find_cliffs(times, 1.3);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].low.size, 5);
  EXPECT_EQ(found[0].better(), 5);
  EXPECT_DOUBLE_EQ(found[0].jump(), 2);
  EXPECT_EQ(found[1].low.size, 6);
  EXPECT_EQ(found[1].better(), 7) << "more may be faster";
  EXPECT_DOUBLE_EQ(found[1].jump(), 20.0 / 14);
  EXPECT_EQ(find_cliffs(times, 1.5).size(), 1u);
  EXPECT_TRUE(find_cliffs(times, 2).empty()) << "as much as the factor is no more than it";
  EXPECT_TRUE(find_cliffs({}, 1.3).empty());
}

/// A 1 x 1 convolution of 16 x 16 pixels on an array of 32 x 32 that nothing else holds up.
Compiled convolution(int in, int out) {
  Options o;
  const std::vector<std::string> fast = {"dram.gb_per_s=1000", "dma.bytes_per_cycle=1024",
                                         "dma.outstanding=4096", "dram.latency_ns=0"};
  o.target = load_target("systolic-32", fast);
  o.model.emplace().graph =
      parse(fmt::format("(x: i8[1,16,16,{0}] q(0.1, 0)) {{ a: i8[1,{0},16,16] q(0.1, 0) = "
                        "Transpose(x, perm=[0,3,1,2])  b: i8[1,{1},16,16] q(0.1, 0) = "
                        "Conv(a, i8[{1},{0},1,1] q(0.01, 0) {{1}}, i32[{1}] q(0.001, 0) {{5}})  "
                        "y: i8[1,16,16,{1}] q(0.1, 0) = Transpose(b, perm=[0,2,3,1]) return y }}",
                        in, out));
  o.first = Stage::place;
  o.place.by_price = false;
  return compile(o);
}

std::size_t only_layer(const Compiled& c) {
  const std::vector<std::size_t> layers = variable_layers(c);
  EXPECT_EQ(layers.size(), 1u);
  return layers.front();
}

TEST(Cliffs, OfAnArrayAreItsMultiples) {
  const Compiled c = convolution(64, 64);
  const std::size_t node = only_layer(c);
  for (const Varied v : {Varied::input_channels, Varied::output_channels}) {
    EXPECT_EQ(size_of(c, node, v), 64);
    const std::vector<SizeTime> times = vary_layer(c, node, v, 8, {});
    ASSERT_EQ(times.size(), 17u) << name(v);
    EXPECT_EQ(times.front().size, 56);
    // Two passes of 32 hold 64 channels, the next takes a third.
    for (const Cliff& cliff : find_cliffs(times, 1.2)) {
      EXPECT_EQ(cliff.low.size, 64) << name(v);
      EXPECT_EQ(cliff.better(), 64) << name(v);
    }
    EXPECT_EQ(find_cliffs(times, 1.2).size(), 1u) << name(v);
  }
  // Pixels stream through it one by one.
  for (const Varied v : {Varied::rows, Varied::columns}) {
    EXPECT_EQ(size_of(c, node, v), 16);
    const std::vector<SizeTime> times = vary_layer(c, node, v, 4, {});
    ASSERT_EQ(times.size(), 9u) << name(v);
    EXPECT_TRUE(find_cliffs(times, 1.3).empty()) << name(v);
    EXPECT_GT(times.back().us, times.front().us) << name(v);
  }
}

TEST(Cliffs, StopAtTheSmallestSize) {
  const Compiled c = convolution(3, 8);
  const std::vector<SizeTime> times = vary_layer(c, only_layer(c), Varied::input_channels, 16, {});
  ASSERT_FALSE(times.empty());
  EXPECT_EQ(times.front().size, 1);
  EXPECT_EQ(times.back().size, 19);
}

TEST(Cliffs, AreOfMatrixProductsToo) {
  Options o;
  o.target = load_target("rk3588-like");
  o.model.emplace().graph = parse(
      "(x: i8[1,40,64] q(0.1, 0)) { y: i8[1,40,96] q(0.1, 0) = "
      "MatMul(x, i8[64,96] q(0.01, 0) {1}) return y }");
  o.first = Stage::place;
  o.place.by_price = false;
  const Compiled c = compile(o);
  const std::size_t node = only_layer(c);
  EXPECT_EQ(size_of(c, node, Varied::input_channels), 64);
  EXPECT_EQ(size_of(c, node, Varied::output_channels), 96);
  EXPECT_EQ(size_of(c, node, Varied::rows), 40);
  EXPECT_EQ(vary_layer(c, node, Varied::rows, 2, {}).size(), 5u);
  EXPECT_EQ(vary_layer(c, node, Varied::output_channels, 2, {}).size(), 5u);
  EXPECT_EQ(vary_layer(c, node, Varied::input_channels, 2, {}).size(), 5u);
  EXPECT_TRUE(vary_layer(c, node, Varied::columns, 2, {}).empty()) << "it has none";
}

}  // namespace
}  // namespace longshore::compile::cliffs_test
