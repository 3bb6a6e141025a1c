// What a model answers to the samples of a data set, held against their labels and against what the
// float model answers.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "measure/dataset.hpp"
#include "measure/paired.hpp"

namespace longshore {

/// Output 0 for sample i of the data set, whose input is given too.
using Answer = std::function<Tensor(std::size_t i, const Tensor& input)>;

struct AccuracyRequest {
  std::vector<std::size_t> picked;  // the samples that are used
  TensorType input;
  std::function<Answer()> model;      // makes one for each thread
  std::function<Answer()> reference;  // the float model's, likewise; null: there is none
  int threads = 1;
  std::function<void(std::size_t done, std::size_t of)> progress;  // null: nobody looks
};

/// Sums over the samples, the same for any number of threads. What a data set without labels, or a
/// request without a reference, says nothing of is 0.
struct Accuracy {
  std::size_t samples = 0;
  /// Output 0 is one score for each class: f32 with a single dim above 1. A sample without a label
  /// whose output has the dims of its input is taken for one that rebuilds it instead.
  bool scores = false;
  std::size_t right = 0, reference_right = 0;  // answers that are the label
  std::size_t agrees = 0;                      // answers that are the reference's
  std::size_t only_reference_right = 0, only_model_right = 0;
  double signal = 0, noise = 0;  // sums of squares: of the reference, of the difference

  /// Infinite where nothing differs, NaN where an output is.
  double sqnr_db() const;
  /// The model's top-1 minus the reference's.
  PairedDifference difference() const {
    return paired_difference(samples, only_reference_right, only_model_right);
  }
};

/// Throws where outputs are no f32, have another size than the reference's, or, with labels, are no
/// scores of these classes.
Accuracy measure_accuracy(const Dataset&, const AccuracyRequest&);

}  // namespace longshore
