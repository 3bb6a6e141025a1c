#include "quantize/hypothesis.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace longshore {
namespace {

/// y = scale * x + offset
struct Line {
  double scale = 1, offset = 0;
};

/// What --mean and --std make of a byte: y = (byte - mean) / std.
struct MeanStd {
  std::vector<double> mean, std;
};

std::string listed(const std::vector<double>& numbers) {
  const bool equal = std::ranges::all_of(numbers, [&](double x) { return x == numbers.front(); });
  std::string out;
  for (const double x : numbers) {
    out += fmt::format("{}{:.4g}", out.empty() ? "" : ",", x);
    if (equal) break;
  }
  return out;
}

MeanStd usual(PixelRange r, std::size_t channels) {
  const double mean = r == PixelRange::centred ? 127.5 : 0, std = r == PixelRange::bytes  ? 1
                                                                  : r == PixelRange::unit ? 255
                                                                                          : 127.5;
  return {std::vector<double>(channels, mean), std::vector<double>(channels, std)};
}

/// The bytes that a channel's numbers were, as far as their range tells. Where that is unknown the
/// darkest and the brightest number of the set are taken for 0 and 255.
Line to_bytes(PixelRange r, const Spread& s) {
  if (r == PixelRange::bytes) return {1, 0};
  if (r == PixelRange::unit) return {255, 0};
  if (r == PixelRange::centred) return {127.5, 127.5};
  const double scale = 255 / std::max(s.highest - s.lowest, 1e-30);
  return {scale, -s.lowest * scale};
}

/// The sum of the numbers that black and white are.
double ends(PixelRange r, const Spread& s) {
  if (r == PixelRange::bytes) return 255;
  if (r == PixelRange::unit) return 1;
  return r == PixelRange::centred ? 0 : s.lowest + s.highest;
}

class Maker {
 public:
  explicit Maker(const PixelNumbers& n) : numbers_(n) {}

  std::vector<Hypothesis> run(bool right_numbers) {
    if (!right_numbers) {
      for (const PixelRange to : {PixelRange::unit, PixelRange::bytes, PixelRange::centred})
        if (to != numbers_.range) bring_to(name(to), usual(to, channels()));
      standardise();
      invert();
    }
    if (channels() == 3) swap();
    return std::move(out_);
  }

 private:
  std::size_t channels() const { return numbers_.channels.size(); }

  Hypothesis& add(std::string_view name, std::string what, std::string changed,
                  std::string remedy) {
    out_.push_back({name, std::move(what), std::move(changed), std::move(remedy),
                    std::vector<double>(channels(), 1), std::vector<double>(channels(), 0)});
    return out_.back();
  }

  void bring_to(std::string_view range, const MeanStd& want) {
    const Spread& all = numbers_.all;
    const std::string seen = numbers_.range == PixelRange::other
                                 ? fmt::format("of {:.3g} to {:.3g}", all.lowest, all.highest)
                                 : std::string(name(numbers_.range));
    Hypothesis& h =
        add("range", fmt::format("its numbers are {}, and the model seems to want {}", seen, range),
            fmt::format("brought to {}", range),
            fmt::format("bring them there (pictures: --mean {} --std {})", listed(want.mean),
                        listed(want.std)));
    for (std::size_t c = 0; c < channels(); c++) {
      const Line byte = to_bytes(numbers_.range, numbers_.channels[c]);
      h.scale[c] = byte.scale / want.std[c];
      h.offset[c] = (byte.offset - want.mean[c]) / want.std[c];
    }
  }

  /// By the samples' own mean and deviation, which those of the training set are like.
  void standardise() {
    MeanStd own;
    bool already = true;
    for (const Spread& s : numbers_.channels) {
      const Line byte = to_bytes(numbers_.range, s);
      own.mean.push_back(byte.scale * s.mean + byte.offset);
      own.std.push_back(std::max(byte.scale * s.deviation, 1e-30));
      already &= std::abs(s.mean) < 0.2 && std::abs(s.deviation - 1) < 0.2;
    }
    if (!already) bring_to("numbers around 0 with a deviation of 1", own);
  }

  void invert() {
    Hypothesis& h = add("inversion", "its pictures seem to be negatives: bright where dark belongs",
                        "inverted", "invert them");
    for (std::size_t c = 0; c < channels(); c++) {
      h.scale[c] = -1;
      h.offset[c] = ends(numbers_.range, numbers_.channels[c]);
    }
  }

  void swap() {
    add("channel order", "its colour channels seem to be in the wrong order",
        "with the first and the last channel exchanged",
        "exchange them (pictures: with --bgr, or without where it is given)")
        .swap = true;
  }

  const PixelNumbers& numbers_;
  std::vector<Hypothesis> out_;
};

}  // namespace

std::vector<Hypothesis> hypotheses(const PixelNumbers& n, bool right_numbers) {
  return Maker(n).run(right_numbers);
}

Tensor changed(const Tensor& picture, const PictureInput& like, const Hypothesis* h,
               const Pose& pose) {
  const PictureInput p = like.with_size(picture.shape);
  const bool same = !h && pose.step == 0 && !pose.mirrored;
  if (same || p.elements() != picture.elements()) return picture;
  const auto in = picture.values<float>();
  std::vector<float> out(in.size());
  for (std::int64_t c = 0; c < p.channels; c++) {
    const auto channel = static_cast<std::size_t>(c);
    const auto scale = static_cast<float>(h ? h->scale[channel] : 1),
               offset = static_cast<float>(h ? h->offset[channel] : 0);
    const std::int64_t source = h && h->swap ? p.channels - 1 - c : c;
    for (std::int64_t y = 0; y < p.height; y++)
      for (std::int64_t x = 0; x < p.width; x++) {
        const std::int64_t column = pose.mirrored ? p.width - 1 - x : x;
        const std::int64_t at = p.at(source, std::max<std::int64_t>(y - pose.step, 0),
                                     std::max<std::int64_t>(column - pose.step, 0));
        out[static_cast<std::size_t>(p.at(c, y, x))] =
            scale * in[static_cast<std::size_t>(at)] + offset;
      }
  }
  return make_floats(picture.shape, out);
}

}  // namespace longshore
