#include <fmt/format.h>

#include "experiment.hpp"
#include "net.hpp"
#include "story.hpp"

namespace longshore::stories {
namespace {

constexpr double macs_per_ms = 65'536e6;  // at 1 GHz; 131 TOPS

double array_ms(const std::string& graph, std::vector<std::string> memory) {
  std::vector<std::string> set = {"dataflow=weight_stationary",
                                  "rows=256",
                                  "columns=256",
                                  "clock=1000",
                                  "sram=16MiB",
                                  "sram.word_bytes=1024",
                                  "vector.lanes=256",
                                  "mac.drain_elements_per_cycle=1024",
                                  "mac.overlaps_folds=true",
                                  "dma.bytes_per_cycle=1024",
                                  "dma.outstanding=4096"};
  set.insert(set.end(), memory.begin(), memory.end());
  return npu_ms(
      {.graph = graph, .target = "rk3588-like", .set = std::move(set), .without = {"cascades"}});
}

Comparison against_peak(const std::string& what, double ms, double macs) {
  return {.what = what,
          .slow = {"as the simulator times it", ms},
          .fast = {"its multiply-accumulates at 131 TOPS", macs / macs_per_ms}};
}

std::vector<Comparison> tell() {
  std::vector<Net::Value> outputs;
  const Net net = vgg16(outputs);
  constexpr int rows = 1 << 15, k = 256, columns = 1024;
  const std::string product = fmt::format(
      "(x: i8[{0},{1}] q(0.1, 0)) {{ y: i8[{0},{2}] q(0.1, 0) = "
      "MatMul(x, i8[{1},{2}] q(0.01, 0) {{1}}) return y }}",
      rows, k, columns);
  Comparison real = against_peak("VGG16, one picture, DRAM of 34 GB/s",
                                 array_ms(net.text(outputs), {"dram=34"}),
                                 static_cast<double>(net.macs())),
             full = against_peak("a product that fills the array, DRAM of 1000 GB/s",
                                 array_ms(product, {"dram=1000"}), double{rows} * k * columns);
  real.lowest = 92 / 14.1, real.highest = 92 / 2.8;
  full.lowest = 0.95, full.highest = 1.25, full.control = true;
  return {real, full};
}

}  // namespace

extern constinit const Story story_peak_tops = {
    .name = "peak-tops",
    .claim = "65,536 multipliers at 1 GHz are 131 TOPS, of which most nets get 3 to 15 %",
    .why =
        "The peak counts each multiplier in each cycle, twice. Weights that are used once wait for "
        "the DRAM, and few channels leave columns idle. Published for the 65,536 multipliers of "
        "the first TPU with 34 GB/s: 2.8 to 14.1 TOPS of 92 for five of six nets, a ratio of 6.5 "
        "to 33 (Jouppi et al., 2017). Control: a product that fills the array, with fast memory.",
    .tell = tell,
    .long_one = true,
};

}  // namespace longshore::stories
