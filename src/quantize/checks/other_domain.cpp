#include <fmt/format.h>

#include "quantize/lint.hpp"

namespace longshore::checks {
namespace {

/// A mean that is off by 2 deviations, or 6.6 times the variance. Right samples of the zoo's data
/// are within 0.01, one class of them within 0.16; black letters on white, which PP-OCR reads well
/// but was not trained on alone, are at about 1.
constexpr double far_off = 2;
constexpr std::size_t fewest = 16;

std::optional<Finding> find(const LintView& v) {
  const std::optional<NormDistance>& d = v.evidence.as_given.farthest;
  if (!d || v.samples.size() < fewest || d->divergence < far_off) return {};
  return Finding{
      .what = "the calibration samples are not like those that the model was trained on",
      .evidence = fmt::format("what node {} reads is {:.3g} deviations from its mean in training "
                              "with {:.3g} times the variance, in the middle channel",
                              d->node, d->shift, d->ratio),
      .remedy =
          "look at how they are made: range, mean and deviation, and whether they are what "
          "the model is for"};
}

}  // namespace

extern constinit const LintCheck check_other_domain = {
    .name = "other_domain",
    .doc = "The first BatchNormalizations read other numbers than in training.",
    .consequence = true,
    .find = find,
};

}  // namespace longshore::checks
