// Inputs that are pictures, and what calibration samples of them are like: what the checks of
// src/quantize/checks look at.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph.hpp"

namespace longshore {

/// An input whose type is that of a picture: f32, rank 4, 1 or 3 channels first or last.
struct PictureInput {
  std::size_t input = 0;  // place in graph.inputs
  std::int64_t channels = 1, height = 0, width = 0;
  bool channels_last = false;

  std::int64_t elements() const { return channels * height * width; }
  std::int64_t at(std::int64_t c, std::int64_t y, std::int64_t x) const {
    return channels_last ? (y * width + x) * channels + c : (c * height + y) * width + x;
  }
  /// The same memory, read as if its channels were at the other end.
  PictureInput reread() const;
  /// The same for a picture of other dims, where the graph leaves them open.
  PictureInput with_size(const Shape&) const;
};

/// The first such input of a graph. `sample` has its dims where the graph leaves them open.
std::optional<PictureInput> picture_input(const Graph&, const std::vector<Tensor>& sample);

/// What a set of numbers is like.
struct Spread {
  double lowest = 0, highest = 0, mean = 0, deviation = 0;
};

/// What is kept of one picture.
struct PictureFacts {
  std::vector<Spread> channels;
  /// Mean squared differences of neighbours, across and down added, in parts of what they would be
  /// without any order of the pixels: 1 is noise, 0 a plain area.
  double roughness = 0;
  double reread_roughness = 0;  // with the channels at the other end; of 3 channels
  /// Those of neighbours in parts of those two pixels apart: 1 is noise, 1/4 a straight ramp.
  double sharpness = 1;
  /// The picture in grey and at most 32 x 32, less its mean, of length 1; empty for a plain one.
  std::vector<float> thumbnail;
};
PictureFacts picture_facts(const PictureInput&, const float* pixels);

/// The cosine between two thumbnails of the same size.
double likeness(const std::vector<float>&, const std::vector<float>&);

/// Which numbers pixels are written as.
enum class PixelRange : std::uint8_t { bytes, unit, centred, standardised, other };
/// "0..255", "0..1", "-1..1", "standardised".
std::string_view name(PixelRange);

/// Of all samples together: the spread of each channel and what range that is.
struct PixelNumbers {
  std::vector<Spread> channels;
  Spread all;
  PixelRange range = PixelRange::other;
};
PixelNumbers pixel_numbers(const std::vector<const PictureFacts*>&);

}  // namespace longshore
