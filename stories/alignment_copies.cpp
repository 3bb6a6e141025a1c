#include <fmt/format.h>

#include "experiment.hpp"
#include "story.hpp"

namespace longshore::stories {
namespace {

/// Two blocks of 24 channels, each a convolution, SiLU and a residual; where `aligned` is more than
/// that, each convolution reads a copy with so many channels.
double stage_ms(int aligned, std::vector<std::string> without) {
  constexpr int channels = 24;
  const auto image = [](int c) { return fmt::format("i8[1,{},112,112] q(0.1, 0)", c); };
  std::string graph = fmt::format(
      "(x: i8[1,112,112,{0}] q(0.1, 0)) {{\n"
      "  y0: {1} = Transpose(x, perm=[0,3,1,2])\n",
      channels, image(channels));
  for (int i = 0; i < 2; i++) {
    std::string read = fmt::format("y{}", i);
    if (aligned > channels) {
      graph += fmt::format("  copy{0}: {1} = Pad(y{0}, i64[8]{{0,0,0,0,0,{2},0,0}})\n", i,
                           image(aligned), aligned - channels);
      read = fmt::format("copy{}", i);
    }
    graph += fmt::format(
        "  a{0}: {1} = Conv({2}, i8[{3},{4},3,3] q(0.01, 0) {{1}}, pads=[1,1,1,1])\n"
        "  b{0}: {1} = Swish(a{0})\n"
        "  y{5}: {1} = Add(y{0}, b{0})\n",
        i, image(channels), read, channels, aligned, i + 1);
  }
  graph += fmt::format(
      "  y: i8[1,112,112,{}] q(0.1, 0) = Transpose(y2, perm=[0,2,3,1]) return y }}", channels);
  return npu_ms({.graph = graph, .target = "rk3588-like", .without = std::move(without)});
}

Comparison on(const std::string& what, const std::vector<std::string>& without) {
  return {.what = what,
          .slow = {"each convolution reads a copy of 32 channels", stage_ms(32, without)},
          .fast = {"no copies: the DMA leaves gaps", stage_ms(24, without)}};
}

std::vector<Comparison> tell() {
  Comparison copies = on("24 channels, layers through memory", {"cascades"}),
             kept = on("copies that stay in SRAM", {});
  copies.lowest = 1.35, copies.highest = 1.65;
  kept.lowest = 0.95, kept.highest = 1.1, kept.control = true;
  return {copies, kept};
}

}  // namespace

extern constinit const Story story_alignment_copies = {
    .name = "alignment-copies",
    .claim = "Copies that bring channels to the alignment take a third of the time",
    .why =
        "An array reads channels that begin at multiples of 16. Where a runtime wants whole "
        "multiples in memory, 24 channels are copied to 32 before each layer that reads them, "
        "which is a pass over memory; a DMA that leaves gaps makes the same in SRAM for nothing, "
        "as ours does. The copies here are Pads that are written out. That a third goes there is "
        "repeated by engineers, of no net in particular: 1.5, give or take a tenth. The blocks "
        "are the first of EfficientNetV2-S; of other layers it is a fifth or more than a half. "
        "Each layer goes through memory, as in NVDLA. Control: cascades, in which copies never "
        "leave the SRAM.",
    .tell = tell,
};

}  // namespace longshore::stories
