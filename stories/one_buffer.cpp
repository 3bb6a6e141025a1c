#include <fmt/format.h>

#include "experiment.hpp"
#include "story.hpp"

namespace longshore::stories {
namespace {

/// A convolution of 64 x 64 pixels.
Comparison layer(int channels, int kernel) {
  // Pixel after pixel in memory, so that rows of bytes are moved.
  const std::string graph = fmt::format(
      "(x: i8[1,64,64,{0}] q(0.1, 0)) {{ a: i8[1,{0},64,64] q(0.1, 0) = "
      "Transpose(x, perm=[0,3,1,2])  b: i8[1,{0},64,64] q(0.1, 0) = "
      "Conv(a, i8[{0},{0},{1},{1}] q(0.01, 0) {{1}}, pads=[{2},{2},{2},{2}])  "
      "y: i8[1,64,64,{0}] q(0.1, 0) = Transpose(b, perm=[0,2,3,1]) return y }}",
      channels, kernel, kernel / 2);
  const plan::Plan two = plan_of({.graph = graph, .target = "rk3588-like", .set = {"sram=2MiB"}});
  return {.what = fmt::format("{0} x {0} convolution, {1} channels", kernel, channels),
          .slow = {"one buffer", npu_ms(without_second_buffers(two))},
          .fast = {"two buffers", npu_ms(two)}};
}

std::vector<Comparison> tell() {
  Comparison balanced = layer(128, 1), compute = layer(32, 15);
  // At most three: load, compute and store, one after the other.
  balanced.lowest = 1.4, balanced.highest = 3;
  compute.lowest = 0.95, compute.highest = 1.1, compute.control = true;
  return {balanced, compute};
}

}  // namespace

extern constinit const Story story_one_buffer = {
    .name = "one-buffer",
    .claim = "One buffer instead of two costs over 40 % of the time of a balanced layer",
    .why =
        "With two buffers a tile is loaded and one is stored while another is computed. The same "
        "tiles with one piece of SRAM each, so that each waits for the other. Balanced: "
        "transfers take about as long as the array. Control: a layer that the array alone bounds.",
    .tell = tell,
};

}  // namespace longshore::stories
