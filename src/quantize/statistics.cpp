#include "quantize/statistics.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"

namespace longshore {

Range RangeStatistics::range() const {
  return seen() ? Range{std::min(lowest, 0.0f), std::max(highest, 0.0f)} : Range{};
}

void RangeStatistics::add_sample(std::span<const float> values) {
  RangeStatistics sample;
  for (float x : values) {
    if (!std::isfinite(x)) {
      sample.not_finite++;
      sample.minus_infinite += x < 0;
      continue;
    }
    sample.lowest = std::min(sample.lowest, x);
    sample.highest = std::max(sample.highest, x);
  }
  sample.elements = values.size();
  merge(sample);
}

void RangeStatistics::merge(const RangeStatistics& other) {
  second_lowest = std::min({std::max(lowest, other.lowest), second_lowest, other.second_lowest});
  second_highest =
      std::max({std::min(highest, other.highest), second_highest, other.second_highest});
  lowest = std::min(lowest, other.lowest);
  highest = std::max(highest, other.highest);
  elements += other.elements;
  not_finite += other.not_finite;
  minus_infinite += other.minus_infinite;
}

void Histogram::add(std::span<const float> values) {
  const double width = bin_width();
  if (!(width > 0)) {
    zeros += values.size();
    return;
  }
  const double per_bin = 1 / width;
  for (float x : values) {
    if (x == 0) {
      zeros++;
      continue;
    }
    if (!std::isfinite(x)) continue;
    const double at = (static_cast<double>(x) - range.lowest) * per_bin;
    counts[static_cast<std::size_t>(std::clamp(at, 0.0, bins - 1.0))]++;
  }
}

void Histogram::merge(const Histogram& other) {
  for (std::size_t i = 0; i < counts.size(); i++) counts[i] += other.counts[i];
  zeros += other.zeros;
}

const Calibrator& calibrator_named(std::string_view name) {
  std::string known;
  for (const Calibrator* c : calibrators::all()) {
    if (c->name == name) return *c;
    known += str(known.empty() ? "" : ", ", c->name);
  }
  fail(Code::bad_argument, "there is no calibrator '", name, "'; there are ", known);
}

}  // namespace longshore
