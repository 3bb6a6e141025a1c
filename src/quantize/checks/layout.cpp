#include <algorithm>

#include <fmt/format.h>

#include "quantize/lint.hpp"

namespace longshore::checks {
namespace {

/// With the channels where they belong the roughness of pictures is a fraction of what it is with
/// them at the other end; the wrong way round it is twice as much and more.
constexpr double smoother = 0.5;

std::optional<Finding> find(const LintView& v) {
  if (!v.pictures || v.input->channels != 3) return {};
  std::size_t other = 0, pictures = 0;
  double given = 0, reread = 0;
  for (const SampleFacts& s : v.samples)
    if (s.picture && s.picture->roughness > 0) {
      pictures++;
      other += s.picture->reread_roughness < smoother * s.picture->roughness;
      given += s.picture->roughness, reread += s.picture->reread_roughness;
    }
  if (pictures == 0 || 2 * other < pictures) return {};
  const bool last = v.input->channels_last;
  const auto n = static_cast<double>(pictures);
  return Finding{
      .what =
          fmt::format("the calibration samples lie with channels {} where the model has them {}",
                      last ? "first" : "last", last ? "last" : "first"),
      .evidence = fmt::format("read that way neighbouring pixels differ by {:.2f} of what pixels "
                              "without order would, as the model reads them by {:.2f}, in {} of {} "
                              "samples by less than half as much",
                              reread / n, given / n, other, pictures),
      .remedy = fmt::format("transpose them from {}; a reshape is not enough",
                            last ? "NCHW to NHWC" : "NHWC to NCHW")};
}

}  // namespace

extern constinit const LintCheck check_layout = {
    .name = "layout",
    .doc = "Channels last where the model wants them first, or the other way round.",
    .find = find,
};

}  // namespace longshore::checks
