#include "quantize/picture.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace longshore {
namespace {

/// Pictures of fewer rows or columns have no neighbours worth a statistic.
constexpr std::int64_t least_side = 8;
constexpr std::int64_t thumbnail_side = 32;

Spread spread_of(const PictureInput& p, std::int64_t c, const float* pixels) {
  Spread s{.lowest = std::numeric_limits<double>::infinity(),
           .highest = -std::numeric_limits<double>::infinity()};
  double squares = 0;
  for (std::int64_t y = 0; y < p.height; y++)
    for (std::int64_t x = 0; x < p.width; x++) {
      const auto v = static_cast<double>(pixels[p.at(c, y, x)]);
      s.lowest = std::min(s.lowest, v), s.highest = std::max(s.highest, v);
      s.mean += v, squares += v * v;
    }
  const auto n = static_cast<double>(p.height * p.width);
  s.mean /= n;
  s.deviation = std::sqrt(std::max(0.0, squares / n - s.mean * s.mean));
  return s;
}

/// The mean squared difference of pixels so far apart, across and down added, over all channels.
double differences(const PictureInput& p, const float* pixels, std::int64_t apart) {
  double across = 0, down = 0;
  for (std::int64_t c = 0; c < p.channels; c++)
    for (std::int64_t y = 0; y < p.height; y++)
      for (std::int64_t x = 0; x < p.width; x++) {
        const auto v = static_cast<double>(pixels[p.at(c, y, x)]);
        if (x >= apart) {
          const double d = v - static_cast<double>(pixels[p.at(c, y, x - apart)]);
          across += d * d;
        }
        if (y >= apart) {
          const double d = v - static_cast<double>(pixels[p.at(c, y - apart, x)]);
          down += d * d;
        }
      }
  return across / static_cast<double>(p.channels * p.height * (p.width - apart)) +
         down / static_cast<double>(p.channels * (p.height - apart) * p.width);
}

/// Differences of neighbours, against the 4 variances that pixels without order would have.
double roughness(const PictureInput& p, const float* pixels, const std::vector<Spread>& channels) {
  double variance = 0;
  for (const Spread& s : channels) variance += s.deviation * s.deviation;
  variance /= static_cast<double>(channels.size());
  return variance > 0 ? differences(p, pixels, 1) / (4 * variance) : 0;
}

std::vector<float> thumbnail(const PictureInput& p, const float* pixels) {
  const std::int64_t rows = std::min(p.height, thumbnail_side),
                     columns = std::min(p.width, thumbnail_side);
  std::vector<double> sums(static_cast<std::size_t>(rows * columns)), counts(sums.size());
  for (std::int64_t y = 0; y < p.height; y++)
    for (std::int64_t x = 0; x < p.width; x++) {
      const auto to =
          static_cast<std::size_t>(y * rows / p.height * columns + x * columns / p.width);
      for (std::int64_t c = 0; c < p.channels; c++) {
        sums[to] += static_cast<double>(pixels[p.at(c, y, x)]);
        counts[to]++;
      }
    }
  double mean = 0, squares = 0;
  for (std::size_t i = 0; i < sums.size(); i++) mean += sums[i] /= counts[i];
  mean /= static_cast<double>(sums.size());
  for (const double s : sums) squares += (s - mean) * (s - mean);
  std::vector<float> out;
  if (!(squares > 1e-12 * mean * mean)) return out;
  for (const double s : sums) out.push_back(static_cast<float>((s - mean) / std::sqrt(squares)));
  return out;
}

PixelRange range_of(const Spread& all, const std::vector<Spread>& channels) {
  if (all.lowest >= 0 && all.highest <= 1.001) return PixelRange::unit;
  if (all.lowest >= 0 && all.highest > 16 && all.highest <= 255.5) return PixelRange::bytes;
  if (all.lowest >= 0) return PixelRange::other;
  if (all.lowest >= -1.001 && all.highest <= 1.001) return PixelRange::centred;
  const bool like = std::ranges::all_of(
      channels, [](const Spread& s) { return s.deviation > 0.25 && s.deviation < 3; });
  return like && all.lowest > -8 && all.highest < 8 ? PixelRange::standardised : PixelRange::other;
}

}  // namespace

PictureInput PictureInput::reread() const {
  PictureInput out = *this;
  out.channels_last = !channels_last;
  return out;
}

PictureInput PictureInput::with_size(const Shape& s) const {
  PictureInput out = *this;
  out.height = s[channels_last ? 1 : 2], out.width = s[channels_last ? 2 : 3];
  return out;
}

std::optional<PictureInput> picture_input(const Graph& g, const std::vector<Tensor>& sample) {
  for (std::size_t i = 0; i < g.inputs.size() && i < sample.size(); i++) {
    const Shape& s = sample[i].shape;
    if (sample[i].dtype != DType::f32 || s.rank != 4 || s[0] != 1) continue;
    const auto colours = [](std::int64_t n) { return n == 1 || n == 3; };
    const bool last = !colours(s[1]) && colours(s[3]);
    if (!last && !colours(s[1])) continue;
    PictureInput p{i, last ? s[3] : s[1], last ? s[1] : s[2], last ? s[2] : s[3], last};
    if (p.height >= least_side && p.width >= least_side) return p;
  }
  return {};
}

PictureFacts picture_facts(const PictureInput& p, const float* pixels) {
  PictureFacts out;
  for (std::int64_t c = 0; c < p.channels; c++) out.channels.push_back(spread_of(p, c, pixels));
  out.roughness = roughness(p, pixels, out.channels);
  const double two = differences(p, pixels, 2);
  if (two > 0) out.sharpness = differences(p, pixels, 1) / two;
  if (p.channels > 1) {
    const PictureInput other = p.reread();
    std::vector<Spread> channels;
    for (std::int64_t c = 0; c < p.channels; c++) channels.push_back(spread_of(other, c, pixels));
    out.reread_roughness = roughness(other, pixels, channels);
  }
  out.thumbnail = thumbnail(p, pixels);
  return out;
}

double likeness(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return 0;
  float sum = 0;
  for (std::size_t i = 0; i < a.size(); i++) sum += a[i] * b[i];
  return static_cast<double>(sum);
}

std::string_view name(PixelRange r) {
  static constexpr std::string_view names[] = {"0..255", "0..1", "-1..1", "standardised",
                                               "of no usual range"};
  return names[static_cast<std::size_t>(r)];
}

PixelNumbers pixel_numbers(const std::vector<const PictureFacts*>& pictures) {
  PixelNumbers out;
  if (pictures.empty()) return out;
  const auto joined = [&](auto&& of) {
    Spread all = of(*pictures.front());
    double mean = 0, squares = 0;
    for (const PictureFacts* p : pictures) {
      const Spread& s = of(*p);
      all.lowest = std::min(all.lowest, s.lowest), all.highest = std::max(all.highest, s.highest);
      mean += s.mean, squares += s.deviation * s.deviation + s.mean * s.mean;
    }
    const auto n = static_cast<double>(pictures.size());
    all.mean = mean / n;
    all.deviation = std::sqrt(std::max(0.0, squares / n - all.mean * all.mean));
    return all;
  };
  for (std::size_t c = 0; c < pictures.front()->channels.size(); c++)
    out.channels.push_back(
        joined([c](const PictureFacts& p) -> const Spread& { return p.channels[c]; }));
  out.all = out.channels.front();
  for (const Spread& s : out.channels) {
    out.all.lowest = std::min(out.all.lowest, s.lowest);
    out.all.highest = std::max(out.all.highest, s.highest);
  }
  out.all.mean = 0;
  for (const Spread& s : out.channels)
    out.all.mean += s.mean / static_cast<double>(out.channels.size());
  out.range = range_of(out.all, out.channels);
  return out;
}

}  // namespace longshore
