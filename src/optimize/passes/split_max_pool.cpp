#include <algorithm>

#include "optimize/passes/max_pool.hpp"

namespace longshore::passes {
namespace {

/// What a pool costs beside its taps, in taps: reading and writing every element.
constexpr std::int64_t handling = 2;
/// The widest window that every pooling unit takes (NVDLA's; others take more).
constexpr std::int64_t widest = 8;

/// More pools than these in a row are worth no graph.
constexpr std::size_t most_pieces = 128;

/// The kernels of pools one after the other whose windows together are `kernel` wide: as few as can
/// be, and about equal. Pools with gaps would reach further with fewer taps, but hardware has none.
std::vector<std::int64_t> pieces_of(std::int64_t kernel) {
  std::int64_t left = kernel - 1,
               count = std::max<std::int64_t>(1, (left + widest - 2) / (widest - 1));
  std::vector<std::int64_t> pieces;
  for (; count > 0; count--) {
    const std::int64_t steps = (left + count - 1) / count;
    pieces.push_back(steps + 1);
    left -= steps;
  }
  return pieces;
}

/// One window over the whole image is a matter of pool_whole_image.
bool covers_image(const Match& m, const PoolWindow& p) {
  const TensorType& x = m.type(m.node().inputs[0]);
  for (std::size_t a = 0; a < p.axes(); a++)
    if (x.rank() != static_cast<int>(p.axes()) + 2 || !x.dims[a + 2].known() ||
        x.dims[a + 2].value != p.kernel[a] || p.begin[a] != 0 || p.end[a] != 0)
      return false;
  return true;
}

/// What the pieces of each axis cost for each output, in taps: before the last one of an axis with
/// strides there are more elements than outputs.
std::int64_t cost(const std::vector<std::vector<std::int64_t>>& pieces, const PoolWindow& p) {
  std::int64_t sum = 0, elements = 1;
  for (std::int64_t stride : p.strides) elements *= stride;
  for (std::size_t a = 0; a < pieces.size(); a++)
    for (std::size_t i = 0; i < pieces[a].size(); i++) {
      if (i + 1 == pieces[a].size()) elements /= p.strides[a];
      sum += elements * (pieces[a][i] + handling);
    }
  return sum;
}

bool rewrite(Match& m) {
  const Node& n = m.node();
  const std::optional<PoolWindow> window = max_pool_window(n);
  if (!window || covers_image(m, *window)) return false;
  const PoolWindow& p = *window;
  const std::size_t axes = p.axes();
  std::int64_t taps = 1;
  std::size_t count = 0;
  std::vector<std::vector<std::int64_t>> pieces(axes);
  for (std::size_t a = 0; a < axes; a++) {
    if (taps > 1'000'000) return false;
    taps *= p.kernel[a];
    if (p.kernel[a] > static_cast<std::int64_t>(most_pieces) * (widest - 1)) return false;
    if (p.kernel[a] > 1 || p.strides[a] > 1 || p.begin[a] > 0 || p.end[a] > 0)
      pieces[a] = pieces_of(p.kernel[a]);
    count += pieces[a].size();
  }
  if (count > most_pieces) return false;
  if (2 * (taps + handling) < 3 * cost(pieces, p)) return false;

  const ValueId old = n.outputs[0];
  ValueId y = n.inputs[0];
  for (std::size_t a = 0; a < axes; a++) {
    // The first piece takes as much of the border as it reaches, so that the windows of the next
    // never lie in the border alone.
    std::int64_t begin = p.begin[a], end = p.end[a];
    for (std::size_t i = 0; i < pieces[a].size(); i++) {
      const bool last = i + 1 == pieces[a].size();
      PoolWindow one{Ints(axes, 1), Ints(axes, 1), Ints(axes, 1), Ints(axes, 0), Ints(axes, 0)};
      one.kernel[a] = pieces[a][i];
      one.dilations[a] = p.dilations[a];
      one.strides[a] = last ? p.strides[a] : 1;
      const std::int64_t reach = (one.kernel[a] - 1) * one.dilations[a];
      one.begin[a] = last ? begin : std::min(begin, reach);
      one.end[a] = last ? end : std::min(end, reach);
      begin -= one.begin[a], end -= one.end[a];
      y = add_max_pool(m, y, one);
    }
  }
  m.replace(old, y);
  return true;
}

}  // namespace

extern constinit const Pass pass_split_max_pool = {
    .stage = Stage::fuse,  // after chain_max_pools
    .doc =
        "A MaxPool with a large window becomes pools along one axis each, none wider than 8: the "
        "same maxima with fewer taps.",
    .rewrite = rewrite,
    .cases =
        {{"(x: f32[1,2,9,8]) { y = MaxPool(x, kernel_shape=[5,5], pads=[2,2,2,2]) return y }",
          "(x: f32[1,2,9,8]) { a = MaxPool(x, kernel_shape=[5,1], pads=[2,0,2,0], strides=[1,1], "
          "dilations=[1,1]) y = MaxPool(a, kernel_shape=[1,5], pads=[0,2,0,2], strides=[1,1], "
          "dilations=[1,1]) return y }"},
         {"(x: f32[1,2,20,20]) { y = MaxPool(x, kernel_shape=[13,13], pads=[6,6,6,6]) return y }",
          "(x: f32[1,2,20,20]) { a = MaxPool(x, kernel_shape=[7,1], pads=[6,0,6,0], strides=[1,1], "
          "dilations=[1,1]) b = MaxPool(a, kernel_shape=[7,1], pads=[0,0,0,0], strides=[1,1], "
          "dilations=[1,1]) c = MaxPool(b, kernel_shape=[1,7], pads=[0,6,0,6], strides=[1,1], "
          "dilations=[1,1]) y = MaxPool(c, kernel_shape=[1,7], pads=[0,0,0,0], strides=[1,1], "
          "dilations=[1,1]) return y }"},
         {"(x: f32[1,2,9,8]) { y = MaxPool(x, kernel_shape=[3,3], strides=[2,2]) return y }", ""},
         {"(x: f32[1,2,9,8]) { y, i = MaxPool(x, kernel_shape=[5,5]) return y, i }", ""},
         {"(x: f32[1,2,9,8]) { y = MaxPool(x, kernel_shape=[5,5], strides=[5,5]) return y }", ""}},
};

}  // namespace longshore::passes
