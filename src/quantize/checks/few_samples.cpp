#include <fmt/format.h>

#include "quantize/lint.hpp"

namespace longshore::checks {
namespace {

constexpr std::size_t enough = 16;

std::optional<Finding> find(const LintView& v) {
  if (v.samples.empty() || v.samples.size() >= enough) return {};
  return Finding{.what = fmt::format("only {} calibration sample{}", v.samples.size(),
                                     v.samples.size() == 1 ? "" : "s"),
                 .evidence = fmt::format("ranges from fewer than {} are seldom right", enough),
                 .remedy = "give some hundred that differ as those do that will come"};
}

}  // namespace

extern constinit const LintCheck check_few_samples = {
    .name = "few_samples",
    .doc = "Fewer than 16 samples.",
    .find = find,
};

}  // namespace longshore::checks
