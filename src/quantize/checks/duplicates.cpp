#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "quantize/lint.hpp"

namespace longshore::checks {
namespace {

/// Some are in every collection: less than 1 % of CIFAR-10 and Fashion-MNIST, 13 % of keywords that
/// were cut from two recordings.
constexpr double most = 0.2;
/// Cosine of two thumbnails from which on one is a copy of the other: saved again, brighter, with
/// a little noise. The likest different ones of 500 are at 0.93 in CIFAR-10 and at 0.976 in
/// Fashion-MNIST; copies with noise of 2 % are above 0.995.
constexpr double copy = 0.99;

std::optional<Finding> find(const LintView& v) {
  std::map<std::uint64_t, std::size_t> first;
  std::size_t equal = 0, like = 0;
  std::pair<std::size_t, std::size_t> example;
  for (std::size_t i = 0; i < v.samples.size(); i++) {
    const auto at = first.try_emplace(v.samples[i].hash, i);
    const bool same = !at.second,
               near = !v.likeness.nearest.empty() && v.likeness.nearest[i].second > copy;
    if (equal + like == 0 && (same || near))
      example = {i, same ? at.first->second : v.likeness.nearest[i].first};
    equal += same;
    like += !same && near;
  }
  const std::size_t count = v.samples.size();
  if (count < 2 || static_cast<double>(equal + like) < most * static_cast<double>(count)) return {};
  const std::string pair =
      fmt::format("{} and {}", v.samples[example.second].name, v.samples[example.first].name);
  if (equal == count - 1)
    return Finding{.error = true,
                   .what = "all calibration samples are the same",
                   .evidence = fmt::format("{} samples with equal bytes, say {}", count, pair),
                   .remedy = "give different ones"};
  return Finding{
      .what = "many calibration samples are there more than once",
      .evidence = fmt::format("of {} samples {} repeat another one{}, say {}", count, equal + like,
                              like == 0 ? "" : fmt::format(", {} of them nearly", like), pair),
      .remedy = "leave the copies out, or give other samples in their place"};
}

}  // namespace

extern constinit const LintCheck check_duplicates = {
    .name = "duplicates",
    .doc = "Samples that are there more than once, byte for byte or nearly.",
    .find = find,
};

}  // namespace longshore::checks
