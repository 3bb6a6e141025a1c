#include "optimize/optimize.hpp"

#include <algorithm>
#include <numeric>
#include <random>

#include "base/error.hpp"

namespace longshore {

Graph optimize(const Graph& from, const OptimizeOptions& options) {
  const std::span<const Pass* const> all = passes::all();
  const auto names = passes::names();
  std::vector<std::size_t> order(all.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937 random(options.order_seed);

  Graph g = tidy(infer(from));
  bool changed = true, unfold = false;
  for (int round = 0; changed; round++) {
    check(round < 100, "the passes do not come to an end");
    changed = false;
    if (options.order_seed) std::shuffle(order.begin(), order.end(), random);
    for (std::size_t i : order) {
      const Pass& pass = *all[i];
      if (pass.stage != Stage::simplify && !options.fuse) continue;
      if ((pass.stage == Stage::unfold) != unfold) continue;
      Graph next = apply(pass, g);
      if (next == g) continue;
      g = std::move(next);
      changed = true;
      if (options.observe) options.observe(names[i], g);
    }
    if (changed) g = tidy(infer(g));
    unfold = !changed && !unfold;
    changed = changed || unfold;
  }
  return g;
}

Graph optimize_special(const Graph& from) {
  OptimizeOptions options;
  options.fuse = false;  // whether operators fuse does not hang on dims
  return optimize(from, options);
}

}  // namespace longshore
