// What the float model itself says about samples: whether its answers hold when a picture moves a
// little, and whether its layers read what they read in training.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "quantize/calibration.hpp"
#include "quantize/hypothesis.hpp"

namespace longshore {

/// For each sample the probabilities of the classes.
using Probabilities = std::vector<std::vector<float>>;

/// A classifier's answers to samples, as probabilities: to each as it is, moved a little and, where
/// it matters, mirrored.
struct Answers {
  Probabilities as_is, moved, mirrored;
};

/// How much the answer to a sample says about that to the same one moved or mirrored, in nats:
/// their mutual information over the set, the mean of both. It is 0 where all answers are alike or
/// where a moved picture gets another one, and near the logarithm of the number of classes where
/// answers are sure, varied and hold.
double agreement(const Answers&);

/// agreement(b) less agreement(a), for the same samples.
struct Gain {
  double nats = 0,
         error = 0;  // error: one standard error, by leaving out one sample after the other
};
Gain gain(const Answers& a, const Answers& b);

/// How far what a layer reads is from what it read in training, by its own mean and variance.
struct NormDistance {
  std::string node;
  /// The median over the channels of the Kullback-Leibler divergence of two normal distributions.
  double divergence = 0;
  double shift = 0;  // median distance of the means, in deviations of training
  double ratio = 1;  // median of variance / variance in training
};

/// A hypothesis that the model prefers, or how it takes the samples as they are.
struct Trial {
  std::optional<Hypothesis> hypothesis;
  std::size_t samples = 0;
  Answers answers;                       // empty: no classifier
  std::optional<NormDistance> farthest;  // of the first layers; absent: none says what it wants
};

struct Evidence {
  std::size_t classes = 0;  // 0: the model is no classifier of pictures
  Trial as_given;
  std::vector<Trial> others;  // on the same samples, those that did well on the first of them
};

/// Runs the model on some samples, `order` says which, as they are and with what hypotheses would
/// change. Those that do no better on the first are dropped. `picture` absent: as they are only.
Evidence gather_evidence(const Graph& imported, const Graph& optimised, const Calibration&,
                         const std::vector<std::size_t>& order,
                         const std::optional<PictureInput>& picture, const PixelNumbers&);

/// A hypothesis under which the model takes the samples far better than as they are.
struct Preferred {
  const Trial* trial = nullptr;
  bool by_answers = false, by_norms = false;
  double after = 0;  // the agreement of its answers
  std::string text;  // the numbers, for people
};

/// The one that the model takes best, if there is one.
std::optional<Preferred> preferred(const Evidence&);

}  // namespace longshore
