#include <algorithm>

#include <fmt/format.h>

#include "quantize/lint.hpp"

namespace longshore::checks {
namespace {

std::optional<Finding> find(const LintView& v) {
  const bool all = v.samples.size() > 1 &&  // of one alone few_samples tells

                   std::ranges::all_of(v.samples, [](const SampleFacts& s) { return s.constant; });
  if (!all) return {};
  return Finding{.error = true,
                 .what = "every calibration sample holds one number only",
                 .evidence = fmt::format("{} samples, all elements of the first are {:g}",
                                         v.samples.size(), v.samples.front().value),
                 .remedy = "look at what is read: no range can come from it"};
}

}  // namespace

extern constinit const LintCheck check_constant = {
    .name = "constant",
    .doc = "All elements of each sample are one number.",
    .find = find,
};

}  // namespace longshore::checks
