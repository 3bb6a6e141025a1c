#include "encoder.hpp"
#include "experiment.hpp"
#include "story.hpp"

namespace longshore::stories {
namespace {

double block_ms(int tokens) {
  return program_ms(
      {.graph = text({.tokens = tokens}), .target = "rk3588-like", .force = {"*=npu"}});
}

/// The mean over these lengths, each padded to the smallest bucket that holds it.
double mean_ms(const std::vector<int>& lengths, const std::vector<int>& buckets) {
  std::vector<double> ms;
  for (const int b : buckets) ms.push_back(block_ms(b));
  double sum = 0;
  for (const int length : lengths)
    for (std::size_t i = 0; i < buckets.size(); i++)
      if (length <= buckets[i]) {
        sum += ms[i];
        break;
      }
  return sum / static_cast<double>(lengths.size());
}

std::vector<Comparison> tell() {
  const std::vector<int> lengths = {32,  64,  96,  128, 160, 192, 224, 256,
                                    288, 320, 352, 384, 416, 448, 480, 512};
  Comparison padded = {.what = "lengths 32, 64, ... 512 through a block of ViT-tiny's size",
                       .slow = {"all padded to 512", mean_ms(lengths, {512})},
                       .fast = {"three buckets: 128, 256, 512", mean_ms(lengths, {128, 256, 512})}},
             long_ones = {.what = "all of length 512",
                          .slow = {"padded to 512", mean_ms({512}, {512})},
                          .fast = {"three buckets", mean_ms({512}, {128, 256, 512})}};
  padded.lowest = 1.3, padded.highest = 2;
  long_ones.lowest = 0.99, long_ones.highest = 1.01, long_ones.control = true;
  return {padded, long_ones};
}

}  // namespace

extern constinit const Story story_buckets = {
    .name = "buckets",
    .claim =
        "Three buckets of lengths give back a quarter to a half of what padding to the longest "
        "takes",
    .why =
        "A program has fixed dims, and compiling one for each length takes seconds. Padding to the "
        "longest computes twice the tokens of lengths that are equally likely, and four times the "
        "scores of attention. `build --buckets` makes a program for each of a few sizes. Repeated "
        "by engineers; a quarter to a half less is a ratio of 1.3 to 2. Control: inputs that are "
        "all of the greatest length.",
    .tell = tell,
};

}  // namespace longshore::stories
