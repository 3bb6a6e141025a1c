#include <algorithm>

#include <fmt/format.h>

#include "quantize/lint.hpp"

namespace longshore::checks {
namespace {

/// (differences of neighbours) / (differences of pixels two apart) is 1/4 where all is a ramp. The
/// sharpest tenth of CIFAR-10 is above 0.44, of Fashion-MNIST above 0.62, photographs that were
/// reduced to 32 to 416 pixels are at 0.32 to 0.6; after a mean of 3 x 3 pixels the same tenths are
/// above 0.30 and 0.33 only.
constexpr double soft = 0.335;

std::optional<Finding> find(const LintView& v) {
  if (!v.pictures) return {};
  std::vector<double> sharpness;
  for (const SampleFacts& s : v.samples)
    if (s.picture && s.picture->roughness > 0) sharpness.push_back(s.picture->sharpness);
  if (sharpness.empty()) return {};
  const auto tenth = sharpness.begin() + static_cast<std::ptrdiff_t>(sharpness.size() * 9 / 10);
  std::ranges::nth_element(sharpness, tenth);
  if (*tenth >= soft) return {};
  return Finding{
      .what = "the calibration samples are blurred, or were enlarged",
      .evidence =
          fmt::format("even in the sharpest tenth of {} samples neighbours differ by {:.2f} "
                      "of what pixels two apart do; sharp pictures are above {:.3g}, a "
                      "plain ramp is at 0.25",
                      sharpness.size(), *tenth, soft),
      .remedy = "give pictures that are as sharp as those that will come: reduced, not enlarged"};
}

}  // namespace

extern constinit const LintCheck check_blur = {
    .name = "blur",
    .doc = "Pictures without fine detail.",
    .find = find,
};

}  // namespace longshore::checks
