// What codes do to the outputs of a model: of one value alone, and of all of them together.
#pragma once
#include <map>
#include <span>
#include <vector>

#include "quantize/calibration.hpp"
#include "quantize/scale.hpp"

namespace longshore {

/// The f32 outputs of samples, in their order, by sample.
using Outputs = std::map<std::size_t, std::vector<std::vector<float>>>;

/// How near outputs are to float's, of the output that fares worst.
struct Nearness {
  /// Squared differences in parts of the squares of float's; 0 where all are equal.
  double noise = 0;
  /// Per cent of float's answers that are lost, by float's own opinion: for each row of an output
  /// along its last axis (of at most three axes), the probability of the class that float ranks
  /// first less that of the class that got says, by float's softmax, or by its numbers where these
  /// are probabilities. 0 where no output has such rows, and next to it where they are no scores.
  double lost_percent = 0;

  /// Of the signal to the noise, at most 300.
  double db() const;
  /// The greater of the noise and what is lost, in per cent.
  double drop_percent() const;
};
Nearness nearness(const Graph&, const Outputs& want, const Outputs& got);

/// A value and the codes that its numbers are rounded to.
struct Rounded {
  ValueId value = no_value;
  ScaleAndZero codes;
  DType dtype = DType::i8;
};

/// For each of these values: the noise of the outputs where it alone is rounded, and all else stays
/// float. Of the samples given; `calibration.progress` is told of values, not of samples.
std::vector<double> output_noise(const Graph& float_graph, const Calibration& calibration,
                                 std::span<const Rounded> values);

}  // namespace longshore
