// What may have gone wrong between a picture and the numbers that the model wants, as the change of
// a sample that would undo it.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "quantize/picture.hpp"

namespace longshore {

/// A change of samples: y = scale * x + offset by channel, and where its pixels are taken from.
struct Hypothesis {
  std::string_view name;  // "range", "inversion" or "channel order"
  std::string what;       // what the samples are, and what the model seems to want
  std::string changed;    // how they were changed: "divided by 255"
  std::string remedy;
  std::vector<double> scale, offset;
  bool swap = false;  // first and last channel
};

/// What could be wrong with samples like these; with `right_numbers` only what leaves range, mean
/// and deviation as they are.
std::vector<Hypothesis> hypotheses(const PixelNumbers&, bool right_numbers);

/// How a picture is shown to see whether an answer holds; `step` pixels further right and down,
/// with the edge repeated.
struct Pose {
  std::int64_t step = 0;
  bool mirrored = false;
};

/// The picture changed, then posed; null: as it is.
Tensor changed(const Tensor& picture, const PictureInput&, const Hypothesis*, const Pose& = {});

}  // namespace longshore
