// Whether calibration samples are what the model wants. Most reports of "int8 collapsed" are wrong
// samples: another range of numbers, swapped channels, noise, the same picture many times.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quantize/calibration.hpp"
#include "quantize/evidence.hpp"
#include "quantize/picture.hpp"

namespace longshore {

/// What a check found.
struct Finding {
  std::string check;   // its name
  bool error = false;  // certainly wrong: nothing is calibrated with that
  std::string what, evidence, remedy;
};
/// "WHAT (EVIDENCE); REMEDY".
std::string text(const Finding&);

/// What is kept of one sample.
struct SampleFacts {
  std::size_t sample = 0;
  std::string name;
  std::uint64_t hash = 0;  // of the bytes of all inputs
  bool constant = false;   // each float input with more than one element holds one number only
  double value = 0;        // of the first such input
  std::optional<PictureFacts> picture;
};

/// How like each other the pictures are; by the place in LintView::samples.
struct Likeness {
  /// For each sample the one before it that is likest, and how like; none for the first.
  std::vector<std::pair<std::size_t, double>> nearest;
  double median = 0;  // over all pairs
};

/// What the checks see.
struct LintView {
  std::vector<SampleFacts> samples;  // that can be read, at most 1024
  std::optional<PictureInput> input;
  PixelNumbers numbers;
  /// Pixels that are pictures: f32 of rank 4 in a range that pixels have, or three channels.
  bool pictures = false;
  Likeness likeness;
  Evidence evidence;
};

/// One thing that is looked for. One file in src/quantize/checks defines one.
struct LintCheck {
  std::string_view name, doc;
  /// True: other mistakes have this as a consequence; left out where another check found something.
  bool consequence = false;
  std::optional<Finding> (*find)(const LintView&) = nullptr;
};

namespace checks {
std::span<const LintCheck* const> all();  // generated, src/quantize/checks/*.cpp
}

/// Looks at the samples, and at what the float model makes of them: `imported` as it was read, with
/// its BatchNormalizations, `optimised` the same after the optimiser. Reads each sample once and
/// runs some of them; the result does not depend on the number of threads.
std::vector<Finding> lint(const Graph& imported, const Graph& optimised, const Calibration&);

/// What the checks would see, for tests.
LintView lint_view(const Graph& imported, const Graph& optimised, const Calibration&);
/// What they find in it.
std::vector<Finding> findings(const LintView&);

}  // namespace longshore
