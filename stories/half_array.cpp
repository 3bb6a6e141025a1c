#include <fmt/format.h>

#include "experiment.hpp"
#include "story.hpp"

namespace longshore::stories {
namespace {

/// `rows` of k features times 1024 columns, on a square array that memory does not hold up.
double product_ms(int side, int rows, int k) {
  return npu_ms({.graph = fmt::format("(x: i8[{0},{1}] q(0.1, 0)) {{ y: i8[{0},1024] q(0.1, 0) = "
                                      "MatMul(x, i8[{1},1024] q(0.01, 0) {{1}}) return y }}",
                                      rows, k),
                 .target = "rk3588-like",
                 .set = {"dataflow=weight_stationary", fmt::format("rows={}", side),
                         fmt::format("columns={}", side), "sram=16MiB", "sram.word_bytes=1024",
                         "dram=1000", "dma.bytes_per_cycle=1024", "dma.outstanding=4096",
                         "mac.drain_elements_per_cycle=1024", "mac.overlaps_folds=true"}});
}

Comparison on(int side) {
  const int rows = 1 << 14;  // so many that what is paid once does not count
  return {.what = fmt::format("{0} x {0} array", side),
          .slow = {"K = 64, twice the rows", product_ms(side, 2 * rows, 64)},
          .fast = {"K = 128", product_ms(side, rows, 128)}};
}

std::vector<Comparison> tell() {
  Comparison wide = on(128), narrow = on(64);
  wide.lowest = 1.8, wide.highest = 2.1;
  narrow.lowest = 0.9, narrow.highest = 1.1, narrow.control = true;
  return {wide, narrow};
}

}  // namespace

extern constinit const Story story_half_array = {
    .name = "half-array",
    .claim = "A product with K = 64 runs at half rate on an array of 128 rows",
    .why =
        "A weight-stationary array holds K along its rows: 64 of 128 rows multiply zeros. The "
        "same multiply-accumulates once with K = 64 and twice the rows, once with K = 128. "
        "Control: an array of 64 rows, which both fill.",
    .tell = tell,
};

}  // namespace longshore::stories
