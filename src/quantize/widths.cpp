#include "quantize/widths.hpp"

#include <algorithm>
#include <cmath>

#include "base/cut.hpp"

namespace longshore {
namespace {

/// Whole picoseconds; no price may be so large that all together reach LeastCut::forbidden.
std::int64_t picoseconds(double us) {
  constexpr double most = 1e13;
  return static_cast<std::int64_t>(std::min(std::max(us, 0.0) * 1e6, most));
}

}  // namespace

std::size_t WidthProblem::add_layer(double narrow_us, double wide_us) {
  layers_.push_back({narrow_us, wide_us});
  return layers_.size() - 1;
}

void WidthProblem::add_value(std::size_t maker, std::vector<std::size_t> readers, double noise,
                             double convert_us) {
  links_.push_back({maker, std::move(readers), noise, convert_us});
}

bool WidthProblem::all_wide(const Link& l, const std::vector<bool>& wide) const {
  return (l.maker == nobody || wide[l.maker]) &&
         std::ranges::all_of(l.readers, [&](std::size_t r) { return wide[r]; });
}

double WidthProblem::noise(const std::vector<bool>& wide) const {
  double sum = 0;
  for (const Link& l : links_) sum += all_wide(l, wide) ? 0 : l.noise;
  return sum;
}

double WidthProblem::price_us(const std::vector<bool>& wide) const {
  double sum = 0;
  for (std::size_t i = 0; i < layers_.size(); i++)
    sum += wide[i] ? layers_[i].wide_us : layers_[i].narrow_us;
  for (const Link& l : links_)
    if (l.maker != nobody &&
        std::ranges::any_of(l.readers, [&](std::size_t r) { return wide[r] != wide[l.maker]; }))
      sum += l.convert_us;
  return sum;
}

std::vector<bool> WidthProblem::cheapest(double us_for_noise) const {
  LeastCut cut;  // wide layers lie on the first side
  std::vector<std::size_t> at;
  for (const Layer& l : layers_) {
    at.push_back(cut.add_vertex());
    cut.add_prices(at.back(), picoseconds(l.wide_us), picoseconds(l.narrow_us));
  }
  for (const Link& l : links_) {
    const std::size_t rounded = cut.add_vertex();  // on the second side where anyone is narrow
    cut.add_prices(rounded, 0, picoseconds(us_for_noise * l.noise));
    std::vector<std::size_t> touched = l.readers;
    if (l.maker != nobody) touched.push_back(l.maker);
    for (std::size_t i : touched) cut.add_edge(rounded, at[i], LeastCut::forbidden / 4);
    if (l.maker == nobody || l.readers.empty()) continue;
    // On the second side where a reader is narrow, and on the first where one is wide.
    const std::size_t narrowed = cut.add_vertex(), widened = cut.add_vertex();
    for (std::size_t i : l.readers) {
      cut.add_edge(narrowed, at[i], LeastCut::forbidden / 4);
      cut.add_edge(at[i], widened, LeastCut::forbidden / 4);
    }
    cut.add_edge(at[l.maker], narrowed, picoseconds(l.convert_us));
    cut.add_edge(widened, at[l.maker], picoseconds(l.convert_us));
  }
  const std::vector<bool> first = cut.first_side();
  std::vector<bool> wide;
  for (std::size_t vertex : at) wide.push_back(first[vertex]);
  return wide;
}

std::vector<bool> WidthProblem::within(double most) const {
  // By exponent: what noise costs spans many orders of magnitude.
  double low = -6, high = 18;
  std::vector<bool> best = cheapest(std::pow(10, high));
  for (int i = 0; i < 40; i++) {
    const double middle = (low + high) / 2;
    std::vector<bool> found = cheapest(std::pow(10, middle));
    const bool enough = noise(found) <= most;
    (enough ? high : low) = middle;
    if (enough) best = std::move(found);
  }
  // Between two prices of noise the cut jumps: what still fits goes back, the dearest first.
  struct Back {
    std::size_t layer;
    double saved_us;
  };
  std::vector<Back> back;
  const double now = price_us(best);
  for (std::size_t i = 0; i < best.size(); i++) {
    if (!best[i]) continue;
    std::vector<bool> other = best;
    other[i] = false;
    back.push_back({i, now - price_us(other)});
  }
  std::ranges::stable_sort(back, std::greater{}, &Back::saved_us);
  for (const Back& b : back) {
    std::vector<bool> other = best;
    other[b.layer] = false;
    if (price_us(other) < price_us(best) && noise(other) <= most) best = std::move(other);
  }
  return best;
}

}  // namespace longshore
