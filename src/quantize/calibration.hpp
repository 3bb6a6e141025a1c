#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "ir/graph.hpp"
#include "quantize/scale.hpp"

namespace longshore {

/// Sees a value of the graph while it runs.
using Observer = std::function<void(ValueId, const TensorView&)>;
/// Runs one sample and shows the watched values to the observer. Used by one thread at a time.
using SampleRunner = std::function<void(std::span<const Tensor> inputs, const Observer&)>;
/// Prepares to run a graph; called once per thread.
using MakeSampleRunner =
    std::function<SampleRunner(const Graph&, std::span<const ValueId> watched)>;

/// The samples from which ranges come, and how to run them.
struct Calibration {
  std::size_t count = 0;
  /// The inputs of sample i, in the order of graph.inputs. Throws Error where it is unreadable:
  /// such samples are skipped and listed. Called from several threads.
  std::function<std::vector<Tensor>(std::size_t)> sample;
  /// What to call sample i in messages; may be empty.
  std::function<std::string(std::size_t)> name;
  /// Empty: the reference, evaluate().
  MakeSampleRunner make_runner;
  int threads = 1;
  /// Called after each sample of each pass, by one thread at a time; may be empty.
  std::function<void(std::string_view pass, std::size_t done, std::size_t all)> progress;
};

/// Samples that are in memory already.
Calibration calibration_from(std::vector<std::vector<Tensor>> samples);

struct Unreadable {
  std::size_t sample;
  std::string name, why;
  bool operator==(const Unreadable&) const = default;
};

/// The first pass: what range each value has. Throws where there is no readable sample.
struct ObservedRanges {
  std::map<ValueId, RangeStatistics> values;
  std::vector<Unreadable> unreadable;
  std::size_t samples = 0;
};
ObservedRanges observe_ranges(const Graph&, const Calibration&, std::span<const ValueId> values);

/// The second pass: fills the histograms, whose ranges are given. Samples that the first pass could
/// not read are left out.
void observe_histograms(const Graph&, const Calibration&, const ObservedRanges&,
                        std::map<ValueId, Histogram>& histograms);

/// Means over samples and positions for each index of axis 1.
struct ChannelMeans {
  std::vector<double> real, coded;  // of the values, and of what their codes stand for
};
/// The third pass: means of values that have a scale by now, of at least rank 2. Exact sums, so the
/// order of the samples does not matter.
std::map<ValueId, ChannelMeans> observe_means(const Graph&, const Calibration&,
                                              const ObservedRanges&,
                                              const std::map<ValueId, ScaleAndZero>& scales,
                                              DType codes);

/// What each index of one axis holds, over samples and positions.
struct ChannelStatistics {
  std::vector<Range> range;
  std::vector<double> mean_square;
};
/// Of the first samples that can be read, 64 at most; `axes` says along which axis of each value.
/// Whatever the order of the samples; a value whose dims change between them is left out.
std::map<ValueId, ChannelStatistics> observe_channels(const Graph&, const Calibration&,
                                                      const std::map<ValueId, int>& axes);

/// What the graph gives for each sample that can be read: its f32 outputs, in their order; those of
/// other types are empty.
std::map<std::size_t, std::vector<std::vector<float>>> observe_outputs(const Graph&,
                                                                       const Calibration&);

}  // namespace longshore
