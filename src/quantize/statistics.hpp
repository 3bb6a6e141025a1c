// What calibration remembers of a value, in bounded memory and whatever the order of the samples,
// and the interface of the calibrators that turn it into a range.
#pragma once
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

namespace longshore {

/// An interval of real numbers.
struct Range {
  float lowest = 0, highest = 0;
  float width() const { return highest - lowest; }
  bool operator==(const Range&) const = default;
};

/// The first pass: extremes. Merging is commutative, so the order of samples does not matter.
struct RangeStatistics {
  float lowest = std::numeric_limits<float>::infinity();
  float highest = -std::numeric_limits<float>::infinity();
  // Extremes without the one sample that reaches furthest: how much one sample matters.
  float second_lowest = std::numeric_limits<float>::infinity();
  float second_highest = -std::numeric_limits<float>::infinity();
  std::uint64_t elements = 0, not_finite = 0;
  std::uint64_t minus_infinite = 0;  // of those that are not finite

  bool seen() const { return lowest <= highest; }
  /// The observed range with zero in it.
  Range range() const;
  /// Adds the values of one sample.
  void add_sample(std::span<const float> values);
  void merge(const RangeStatistics&);
};

/// The second pass: how often each part of the range occurs. Exact zeros are counted apart, since
/// zero is always represented exactly.
struct Histogram {
  static constexpr int bins = 2048;
  Range range;
  std::vector<std::uint64_t> counts;
  std::uint64_t zeros = 0;

  Histogram() = default;
  explicit Histogram(Range r) : range(r), counts(bins) {}
  void add(std::span<const float> values);
  void merge(const Histogram&);
  double bin_width() const { return (static_cast<double>(range.highest) - range.lowest) / bins; }
};

/// A way to choose the range of an activation. One file in src/quantize/calibrators defines one.
struct Calibrator {
  std::string_view name, doc;
  /// False: `choose` gets a histogram with a range and no counts, and the second pass is saved.
  bool needs_counts = false;
  /// The range to represent with `levels` codes; lies within the histogram's range and holds zero.
  Range (*choose)(const Histogram&, int levels) = nullptr;
};

namespace calibrators {
std::span<const Calibrator* const> all();  // generated, src/quantize/calibrators/*.cpp
}

/// Throws, naming those that exist, where there is none of that name.
const Calibrator& calibrator_named(std::string_view name);

}  // namespace longshore
