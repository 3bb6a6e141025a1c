#include <algorithm>

#include "optimize/passes/max_pool.hpp"

namespace longshore::passes {
namespace {

/// How many nodes back the smaller pool is looked for: the pools of one pyramid are neighbours.
constexpr std::size_t reach = 64;

bool steps_by_one(const PoolWindow& p) {
  const auto one = [](std::int64_t v) { return v == 1; };
  return std::ranges::all_of(p.strides, one) && std::ranges::all_of(p.dilations, one);
}

/// What is left of the window after `small` has been taken, if its maxima are those of `small`'s.
std::optional<PoolWindow> rest_after(const PoolWindow& large, const PoolWindow& small) {
  if (large.axes() != small.axes() || !steps_by_one(small)) return {};
  PoolWindow rest = large;
  bool left = false, taken = false;
  for (std::size_t a = 0; a < large.axes(); a++) {
    rest.kernel[a] = large.kernel[a] - small.kernel[a] + 1;
    rest.begin[a] = large.begin[a] - small.begin[a];
    rest.end[a] = large.end[a] - small.end[a];
    // Each window of the rest must hold a maximum, not only the border around the maxima.
    for (const std::int64_t border : {rest.begin[a], rest.end[a]})
      if (border < 0 || border >= rest.kernel[a]) return {};
    left = left || rest.kernel[a] > 1;
    taken = taken || small.kernel[a] > 1;
  }
  return left && taken ? std::optional(rest) : std::nullopt;
}

bool rewrite(Match& m) {
  const Node& n = m.node();
  const std::optional<PoolWindow> large = max_pool_window(n);
  if (!large || !steps_by_one(*large)) return false;
  const std::vector<Node>& nodes = m.graph().nodes;
  const auto at = static_cast<std::size_t>(&n - nodes.data());
  std::optional<PoolWindow> best;
  ValueId from = no_value;
  std::int64_t fewest = 0;
  for (std::size_t i = at; i-- > 0 && at - i <= reach;) {
    if (nodes[i].input(0) != n.inputs[0]) continue;
    const std::optional<PoolWindow> small = max_pool_window(nodes[i]);
    const std::optional<PoolWindow> rest = small ? rest_after(*large, *small) : std::nullopt;
    if (!rest) continue;
    std::int64_t taps = 1;
    for (std::int64_t k : rest->kernel) taps *= k;
    if (!best || taps < fewest) best = rest, from = nodes[i].outputs[0], fewest = taps;
  }
  if (!best) return false;
  const ValueId old = n.outputs[0];
  m.replace(old, add_max_pool(m, from, *best));
  return true;
}

}  // namespace

extern constinit const Pass pass_chain_max_pools = {
    .stage = Stage::simplify,
    .doc =
        "Of MaxPools of one value the larger begins from the maxima of the smaller: a pyramid of "
        "5, "
        "9 and 13 is 5 after 5 after 5.",
    .rewrite = rewrite,
    .cases =
        {{"(x: f32[1,2,20,20]) { a = MaxPool(x, kernel_shape=[5,5], pads=[2,2,2,2]) b = MaxPool(x, "
          "kernel_shape=[9,9], pads=[4,4,4,4]) return a, b }",
          "(x: f32[1,2,20,20]) { a = MaxPool(x, kernel_shape=[5,5], pads=[2,2,2,2]) b = MaxPool(a, "
          "kernel_shape=[5,5], pads=[2,2,2,2], strides=[1,1], dilations=[1,1]) return a, b }"},
         // The border of the second is wider than what is left of its window.
         {"(x: f32[1,2,9,9]) { a = MaxPool(x, kernel_shape=[3,3]) b = MaxPool(x, "
          "kernel_shape=[5,5], "
          "pads=[4,4,4,4]) return a, b }",
          ""},
         {"(x: f32[1,2,9,9]) { a = MaxPool(x, kernel_shape=[3,3], strides=[2,2]) b = MaxPool(x, "
          "kernel_shape=[5,5]) return a, b }",
          ""}},
};

}  // namespace longshore::passes
