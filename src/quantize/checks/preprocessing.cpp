#include "quantize/lint.hpp"

namespace longshore::checks {
namespace {

std::optional<Finding> find(const LintView& v) {
  const std::optional<Preferred> p = preferred(v.evidence);
  if (!p) return {};
  const Hypothesis& h = *p->trial->hypothesis;
  return Finding{.what = "the calibration set is not prepared as the model wants it: " + h.what,
                 .evidence = p->text,
                 .remedy = h.remedy};
}

}  // namespace

extern constinit const LintCheck check_preprocessing = {
    .name = "preprocessing",
    .doc =
        "Another range, mean or deviation, swapped channels, negatives: what the model's answers "
        "and its normalisations say of the samples and of what they could have been.",
    .find = find,
};

}  // namespace longshore::checks
