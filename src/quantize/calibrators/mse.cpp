#include <algorithm>
#include <cmath>
#include <vector>

#include "quantize/statistics.hpp"

namespace longshore::calibrators {
namespace {

/// Sums over the bins below an edge, so that the error of any range costs a few operations.
class Moments {
 public:
  explicit Moments(const Histogram& h) : width_(h.bin_width()), lowest_(h.range.lowest) {
    mass_.push_back(0);
    first_.push_back(0);
    second_.push_back(0);
    for (int i = 0; i < Histogram::bins; i++) {
      const auto n = static_cast<double>(h.counts[static_cast<std::size_t>(i)]);
      const double x = edge(i) + width_ / 2;
      mass_.push_back(mass_.back() + n);
      first_.push_back(first_.back() + n * x);
      second_.push_back(second_.back() + n * (x * x + width_ * width_ / 12));
    }
  }
  double edge(int i) const { return lowest_ + width_ * i; }

  /// Expected squared error of representing [edge(low), edge(high)] with `levels` codes: a uniform
  /// rounding error inside, the distance to the end outside.
  double error(int low, int high, int levels) const {
    const double a = edge(low), b = edge(high), step = (b - a) / (levels - 1);
    return step * step / 12 * (at(mass_, high) - at(mass_, low)) + outside(0, low, a) +
           outside(high, Histogram::bins, b);
  }

 private:
  static double at(const std::vector<double>& v, int i) { return v[static_cast<std::size_t>(i)]; }
  /// sum of (x - end)^2 over the bins [from, to)
  double outside(int from, int to, double end) const {
    const double n = at(mass_, to) - at(mass_, from), s = at(first_, to) - at(first_, from);
    return at(second_, to) - at(second_, from) - 2 * end * s + end * end * n;
  }

  double width_, lowest_;
  std::vector<double> mass_, first_, second_;
};

Range choose(const Histogram& h, int levels) {
  if (!(h.bin_width() > 0)) return h.range;
  const Moments moments(h);
  constexpr int bins = Histogram::bins;
  // Zero stays inside: the lower end moves up to zero's bin, the upper end down to it.
  const int zero =
      std::clamp(static_cast<int>(std::floor(-h.range.lowest / h.bin_width())), 0, bins);
  const int most_low = h.range.lowest < 0 ? zero : 0;
  const int least_high = h.range.highest > 0 ? std::min(zero + 1, bins) : bins;
  int low = 0, high = bins;
  double best = moments.error(low, high, levels);
  const auto search = [&](int low_first, int low_last, int high_first, int high_last, int step) {
    for (int i = std::max(low_first, 0); i <= std::min(low_last, most_low); i += step)
      for (int j = std::min(high_last, bins); j >= std::max(high_first, least_high); j -= step)
        if (const double e = i < j ? moments.error(i, j, levels) : best; e < best)
          best = e, low = i, high = j;
  };
  search(0, bins, 0, bins, 64);
  for (int step : {8, 1})
    search(low - 8 * step, low + 8 * step, high - 8 * step, high + 8 * step, step);
  return {low == 0 ? h.range.lowest : std::min(0.0f, static_cast<float>(moments.edge(low))),
          high == bins ? h.range.highest : std::max(0.0f, static_cast<float>(moments.edge(high)))};
}

}  // namespace

extern constinit const Calibrator calibrator_mse = {
    .name = "mse",
    .doc = "The range with the smallest mean squared error, from a histogram of 2048 bins.",
    .needs_counts = true,
    .choose = choose,
};

}  // namespace longshore::calibrators
