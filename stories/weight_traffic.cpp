#include <fmt/format.h>

#include "experiment.hpp"
#include "story.hpp"

namespace longshore::stories {
namespace {

// A projection of the attention of 7B models. The whole model is so many of these that there are
// 7e9 weights.
constexpr double weights = 7e9;
constexpr int hidden = 4096;
constexpr double products = weights / (double{hidden} * hidden);

/// Milliseconds of the whole model. Products cost the same for both kinds of weights, and the DRAM
/// gives 30 GB/s; neither bursts in flight nor the bus hold it up.
double model_ms(const char* type, int tokens) {
  return products *
         npu_ms({.graph = fmt::format("(x: i16[{0},{1}] q(0.001, 0)) {{ "
                                      "y: i16[{0},{1}] q(0.001, 0) = "
                                      "MatMul(x, {2}[{1},{1}] q(0.001, 0) {{1}}) return y }}",
                                      tokens, hidden, type),
                 .target = "rk3588-like",
                 .set = {"dram=30", "dram.read_efficiency=1", "dma.outstanding=256",
                         "dma.bytes_per_cycle=64", "mac.i16_rate=1", "mac.i16_weights_rate=1",
                         "sram=1MiB"}});
}

Comparison on(const std::string& what, int tokens) {
  return {.what = what,
          .slow = {"weights of 16 bits, 7e9 of them", model_ms("i16", tokens)},
          .fast = {"weights of 8 bits", model_ms("i8", tokens)}};
}

std::vector<Comparison> tell() {
  Comparison token = on("one token", 1), prompt = on("a prompt of 128 tokens at once", 128),
             saved = {.what = "one token, against what 7 GB take at 30 GB/s",
                      .slow = token.slow,
                      .fast = {"7 GB at 30 GB/s", weights / 30e9 * 1e3}};
  token.lowest = saved.lowest = 1.9, token.highest = saved.highest = 2.1;
  prompt.lowest = 0.95, prompt.highest = 1.1, prompt.control = true;
  return {token, saved, prompt};
}

}  // namespace

extern constinit const Story story_weight_traffic = {
    .name = "weight-traffic",
    .claim = "Weights of 8 instead of 16 bits save a 7B model 233 ms of each token at 30 GB/s",
    .why =
        "One token reads each weight once, and nothing else takes as long: half of the bytes is "
        "half of the time. 7 GB at 30 GB/s are 233 ms, an arithmetic that engineers repeat; 26 to "
        "31 GB/s is what an RK3588 reaches in decoding (rknn-llm). There are no half-precision "
        "programs, so that weights of 16-bit integers stand for fp16; activations have 16 bits "
        "both times, and products cost the same. One product of 4096 x 4096 is timed and "
        "scaled to 7e9 weights. Control: so many tokens at once that the array has more to do.",
    .tell = tell,
};

}  // namespace longshore::stories
