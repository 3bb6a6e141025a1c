#include <algorithm>

#include <fmt/format.h>

#include "quantize/lint.hpp"

namespace longshore::checks {
namespace {

/// Of natural pictures of 32 x 32 the roughest has 0.36, of clothes 0.54, a field of stars 0.62.
constexpr double rough = 0.8;

std::optional<Finding> find(const LintView& v) {
  if (!v.pictures) return {};
  std::size_t noisy = 0, pictures = 0;
  double sum = 0;
  for (const SampleFacts& s : v.samples)
    if (s.picture) {
      pictures++;
      noisy += s.picture->roughness > rough && s.picture->sharpness > rough &&
               !(s.picture->reread_roughness > 0 && s.picture->reread_roughness < rough / 2);
      sum += s.picture->roughness;
    }
  if (2 * noisy < pictures || noisy == 0) return {};
  return Finding{
      .what = "the calibration samples are noise, not pictures",
      .evidence = fmt::format("in {} of {} samples a pixel says nothing about its neighbours: "
                              "these differ by {:.2f} of what pixels without order would, pictures "
                              "by less than 0.6",
                              noisy, pictures, sum / static_cast<double>(pictures)),
      .remedy =
          "give pictures as the model will see them; for random numbers leave --calibrate out"};
}

}  // namespace

extern constinit const LintCheck check_noise = {
    .name = "noise",
    .doc = "Random numbers instead of pictures.",
    .find = find,
};

}  // namespace longshore::checks
