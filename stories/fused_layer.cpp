#include <fmt/format.h>

#include "experiment.hpp"
#include "story.hpp"

namespace longshore::stories {
namespace {

/// With what stands between `a`, the sums, and `d`, what the layer gives.
std::string layer(const std::string& nodes) {
  return "(x: i8[1,28,28,128] q(0.1, 0)) {\n"
         "  t: i8[1,128,28,28] q(0.1, 0) = Transpose(x, perm=[0,3,1,2])\n" +
         nodes + "  y: i8[1,28,28,128] q(0.1, 0) = Transpose(d, perm=[0,2,3,1]) return y }";
}

double apart_ms(std::vector<std::string> set) {
  return npu_ms({.graph = layer(R"(
  a: i8[1,128,28,28] q(0.1, 0) = Conv(t, i8[128,128,3,3] q(0.01, 0) {1}, pads=[1,1,1,1])
  b: i8[1,128,28,28] q(0.1, 0) = Conv(a, i8[128,1,1,1] q(0.01, 0) {1},
    i32[128] q(0.001, 0) {1}, group=128)
  d: i8[1,128,28,28] q(0.1, 0) = Relu(b)
)"),
                 .target = "rk3588-like",
                 .set = std::move(set),
                 .without = {"fusion", "cascades"}});
}

double fused_ms(std::vector<std::string> set) {
  return npu_ms({.graph = layer(R"(
  d: i8[1,128,28,28] q(0.1, 0) = com.microsoft.FusedConv(t, i8[128,128,3,3] q(0.01, 0) {1},
    i32[128] q(0.001, 0) {1}, pads=[1,1,1,1], activation="Relu")
)"),
                 .target = "rk3588-like",
                 .set = std::move(set)});
}

Comparison on(const std::string& what, const std::vector<std::string>& set) {
  return {.what = what,
          .slow = {"three layers, each through memory", apart_ms(set)},
          .fast = {"one: factors in its weights, ReLU where sums saturate", fused_ms(set)}};
}

std::vector<Comparison> tell() {
  Comparison passes = on("3 x 3 convolution, 128 channels, 28 x 28 pixels", {}),
             free = on("passes over memory and through the vector unit at no cost",
                       {"dram=1000", "dma.bytes_per_cycle=1024", "dma.outstanding=4096",
                        "sram.word_bytes=1024", "vector.lanes=4096", "mac.depthwise_lanes=4096",
                        "control.layer_switch_cycles=0"});
  passes.lowest = 1.43, passes.highest = 2;  // 1 / (1 - 30 %), 1 / (1 - 50 %)
  free.lowest = 0.95, free.highest = 1.1, free.control = true;
  return {passes, free};
}

}  // namespace

extern constinit const Story story_fused_layer = {
    .name = "fused-layer",
    .claim = "Fusing Conv + BatchNormalization + ReLU saves 30 to 50 % of that layer",
    .why =
        "What is not fused goes through memory once more: BatchNormalization as a factor and a "
        "summand for each channel, then ReLU in the vector unit. Saving 30 to 50 % is a ratio of "
        "1.43 to 2. Control: a machine on which these passes cost nothing.",
    .tell = tell,
};

}  // namespace longshore::stories
