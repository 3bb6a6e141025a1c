#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/type.hpp"

namespace longshore {

/// How a picture becomes a model's input.
struct ImageOptions {
  enum class Layout : std::uint8_t { automatic, nchw, nhwc };
  enum class Resize : std::uint8_t {
    stretch,    // to the input's size, whatever the proportions
    crop,       // the largest centred rectangle of the input's proportions
    letterbox,  // the whole picture, with borders
  };
  /// y = (pixel - mean) / std, pixels from 0 to 255; one number for all channels or one for each,
  /// in the order of the tensor. Integer inputs take the pixels as they are.
  std::vector<float> mean = {0}, std = {255};
  Layout layout = Layout::automatic;
  bool bgr = false;
  Resize resize = Resize::stretch;
  float crop_fraction = 1;    // of that rectangle; 0.875 is usual for ImageNet
  std::uint8_t border = 114;  // of letterbox
  bool operator==(const ImageOptions&) const = default;
};

/// What differs from the defaults, a line for each as the command line has it: "--mean 127\n".
std::string print(const ImageOptions&);
/// The other way round. Throws for anything else.
ImageOptions parse_image_options(std::string_view);

/// A picture: rows from the top, three bytes (red, green, blue) a pixel.
struct Image {
  std::int64_t width = 0, height = 0;
  std::vector<std::uint8_t> rgb;
};

/// Whether the channels of an input of rank 3 or 4 come before its rows: as the options say, or as
/// its type tells, by an axis of 1 or 3.
bool channels_first(const TensorType& input, ImageOptions::Layout);

/// The number of `mean` or `std` for a channel.
float channel_number(const std::vector<float>& list, std::int64_t channel);

/// True for the first bytes of a PNG or JPEG file.
bool is_image(std::span<const std::byte>);

/// Decodes PNG (any kind; transparency is dropped, 16 bits become 8) and JPEG (grey or colour; the
/// orientation that a camera noted is applied). Throws Error, naming the file.
Image decode_image(std::span<const std::byte> bytes, const std::string& name);

/// The box [x, x + width) by [y, y + height) of the picture, resized. Bilinear; when shrinking, the
/// triangle is as wide as the step, so every pixel counts (antialiasing). Columns first, then
/// rows, each rounded to bytes: Pillow's BILINEAR, byte for byte.
Image resize_image(const Image&, double x, double y, double width, double height,
                   std::int64_t to_width, std::int64_t to_height);

/// The picture as a tensor for an input of this type: rank 3 or 4, 1 or 3 channels, batch 1, f32,
/// f16 or u8. Unknown heights and widths become the picture's own.
Tensor image_tensor(const Image&, const TensorType& input, const ImageOptions&,
                    const std::string& name);

/// A file for an input of this type, told by its content: picture, .npy or TensorProto.
Tensor read_input(const std::string& path, const TensorType& input,
                  const ImageOptions& options = {});

}  // namespace longshore
