// Large windows and pyramids of them, taken apart by the passes: the same maxima, whatever the
// kernel, stride, dilation and border, along one to three axes.
#include <gtest/gtest.h>

#include "ir/op.hpp"
#include "optimize/optimize.hpp"
#include "random.hpp"

namespace longshore::tests::max_pool_windows_test {
namespace {

class Windows : public testing::Test {
 protected:
  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }

  /// `kernel` and borders narrower than it, over an image that has a window at least.
  Attributes window(const Shape& image, const Ints& kernel, bool plain) {
    const auto axes = kernel.size();
    Ints strides(axes, 1), dilations(axes, 1), pads(2 * axes);
    for (std::size_t a = 0; a < axes; a++) {
      const std::int64_t size = image[static_cast<int>(a) + 2];
      if (!plain && pick(0, 2) == 0) strides[a] = pick(1, 3);
      if (!plain && pick(0, 3) == 0) dilations[a] = 2;
      const std::int64_t reach = (kernel[a] - 1) * dilations[a] + 1;
      pads[a] = pick(0, kernel[a] - 1), pads[axes + a] = pick(0, kernel[a] - 1);
      while (size + pads[a] + pads[axes + a] < reach) {  // dilated: the border may be too narrow
        dilations[a] = 1;
        if (size + pads[a] + pads[axes + a] >= kernel[a]) break;
        pads[a] = pads[axes + a] = kernel[a] - 1;
      }
    }
    Attributes out;
    out.set("kernel_shape", kernel);
    out.set("strides", strides);
    out.set("dilations", dilations);
    out.set("pads", pads);
    return out;
  }

  std::mt19937 random_{seed()};
  int rewritten_ = 0;

  void expect_same(const Graph& g) {
    const Graph better = optimize(g);
    rewritten_ += better.nodes == g.nodes ? 0 : 1;
    const Tensor x = random_tensor(random_, DType::f32, *g[g.inputs[0]].type.shape());
    EXPECT_EQ(evaluate(g, std::span(&x, 1)), evaluate(better, std::span(&x, 1))) << print(g);
  }
};

TEST_F(Windows, OfAnySizeHaveTheSameMaxima) {
  for (int draw = 0; draw < 200; draw++) {
    const int axes = static_cast<int>(pick(1, 3));
    Shape image{pick(1, 2), pick(1, 2)};
    Ints kernel;
    for (int a = 0; a < axes; a++) {
      image.push(pick(1, axes == 3 ? 7 : 18));
      kernel.push_back(pick(1, axes == 3 ? 6 : 20));
    }
    Graph g;
    const ValueId x = g.add_input("x", TensorType(DType::f32, image));
    g.outputs = {g.add("MaxPool", {x}, window(image, kernel, false), "y")};
    expect_same(g);
  }
  EXPECT_GT(rewritten_, 50);
}

TEST_F(Windows, OfAPyramidHaveTheSameMaxima) {
  for (int draw = 0; draw < 100; draw++) {
    const Shape image{1, 2, pick(3, 14), pick(3, 14)};
    Graph g;
    const ValueId x = g.add_input("x", TensorType(DType::f32, image));
    for (int pool = 0; pool < 3; pool++) {
      const bool square = pick(0, 3) != 0;
      const std::int64_t k = 2 * pick(1, 6) + 1;
      Attributes same;  // as SPP has them
      same.set("kernel_shape", Ints{k, k});
      same.set("pads", Ints(4, k / 2));
      g.outputs.push_back(
          g.add("MaxPool", {x}, square ? same : window(image, {k, pick(1, 8)}, true)));
    }
    expect_same(g);
  }
  EXPECT_GT(rewritten_, 50);
}

}  // namespace
}  // namespace longshore::tests::max_pool_windows_test
