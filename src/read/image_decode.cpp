#include <csetjmp>
#include <cstdio>
#include <cstring>

#include <jpeglib.h>  // after <cstdio>, which it needs
#include <jerror.h>
#include <png.h>

#include "base/error.hpp"
#include "read/image.hpp"

namespace longshore {
namespace {

constexpr std::int64_t side_limit = 32768, pixels_limit = std::int64_t{1} << 28;

void check_size(std::int64_t width, std::int64_t height, const std::string& name) {
  if (width < 1 || height < 1) fail(Code::bad_argument, name, ": the picture is empty");
  if (width > side_limit || height > side_limit || width * height > pixels_limit)
    fail(Code::exhausted, name, ": the picture has ", width, " x ", height,
         " pixels, the limit is ", pixels_limit);
}

bool is_png(std::span<const std::byte> b) {
  return b.size() >= 8 && std::memcmp(b.data(), "\x89PNG\r\n\x1a\n", 8) == 0;
}
bool is_jpeg(std::span<const std::byte> b) {
  return b.size() >= 3 && std::memcmp(b.data(), "\xff\xd8\xff", 3) == 0;
}

Image decode_png(std::span<const std::byte> bytes, const std::string& name) {
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  struct Free {
    png_image* p;
    ~Free() { png_image_free(p); }
  } const free{&png};
  if (!png_image_begin_read_from_memory(&png, bytes.data(), bytes.size()))
    fail(Code::bad_argument, name, ": not a readable PNG: ", png.message);
  check_size(png.width, png.height, name);
  png.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;  // 16-bit files hold the same curve as 8-bit ones
  png.format = PNG_FORMAT_RGBA;  // with the alpha channel, so that colours are not blended
  std::vector<std::uint8_t> rgba(PNG_IMAGE_SIZE(png));
  if (!png_image_finish_read(&png, nullptr, rgba.data(), 0, nullptr))
    fail(Code::bad_argument, name, ": not a readable PNG: ", png.message);
  Image out{png.width, png.height, {}};
  out.rgb.resize(rgba.size() / 4 * 3);
  for (std::size_t i = 0; i < rgba.size() / 4; i++) std::memcpy(&out.rgb[i * 3], &rgba[i * 4], 3);
  return out;
}

/// The libjpeg way of errors: a jump back, over C frames only.
struct JpegErrors {
  jpeg_error_mgr base;
  std::jmp_buf jump;
  char text[JMSG_LENGTH_MAX];
};
[[noreturn]] void jpeg_failed(j_common_ptr info) {
  auto* errors = reinterpret_cast<JpegErrors*>(info->err);
  info->err->format_message(info, errors->text);
  std::longjmp(errors->jump, 1);
}
/// A file that ends too soon would silently become a half grey picture.
void jpeg_message(j_common_ptr info, int level) {
  if (level < 0 && (info->err->msg_code == JWRN_JPEG_EOF || info->err->msg_code == JWRN_HIT_MARKER))
    jpeg_failed(info);
}

/// Plain C inside: no object with a destructor may live across the jump. `grow` makes room.
bool decode_jpeg_rows(std::span<const std::byte> bytes, JpegErrors& errors,
                      jpeg_decompress_struct& info, void* self,
                      std::uint8_t* (*grow)(void* self, unsigned width, unsigned height)) {
  info.err = jpeg_std_error(&errors.base);
  errors.base.error_exit = jpeg_failed;
  errors.base.emit_message = jpeg_message;
  if (setjmp(errors.jump)) {
    jpeg_destroy_decompress(&info);
    return false;
  }
  jpeg_create_decompress(&info);
  jpeg_save_markers(&info, JPEG_APP0 + 1, 0xffff);
  jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  jpeg_read_header(&info, TRUE);
  if (info.jpeg_color_space == JCS_CMYK || info.jpeg_color_space == JCS_YCCK) {
    std::strcpy(errors.text, "its colours are CMYK; grey and RGB are read");
    jpeg_destroy_decompress(&info);
    return false;
  }
  info.out_color_space = JCS_RGB;
  std::uint8_t* rows = grow(self, info.image_width, info.image_height);
  if (!rows) {
    std::strcpy(errors.text, "the picture is too large");
    jpeg_destroy_decompress(&info);
    return false;
  }
  jpeg_start_decompress(&info);
  while (info.output_scanline < info.output_height) {
    JSAMPROW row = rows + static_cast<std::size_t>(info.output_scanline) * info.output_width * 3;
    jpeg_read_scanlines(&info, &row, 1);
  }
  return true;
}

/// Tag 274 of the Exif block: 1 to 8, 1 where there is none.
int exif_orientation(const unsigned char* data, std::size_t size) {
  if (size < 14 || std::memcmp(data, "Exif\0\0", 6) != 0) return 1;
  const unsigned char* tiff = data + 6;
  size -= 6;
  const bool little = tiff[0] == 'I';
  const auto word = [&](std::size_t at) -> std::size_t {
    if (at + 2 > size) return 0;
    return little ? tiff[at] | tiff[at + 1] << 8 : tiff[at] << 8 | tiff[at + 1];
  };
  const auto quad = [&](std::size_t at) {
    return little ? word(at) | word(at + 2) << 16 : word(at) << 16 | word(at + 2);
  };
  const std::size_t start = quad(4), count = word(start);
  for (std::size_t i = 0; i < count && start + 2 + i * 12 + 12 <= size; i++)
    if (word(start + 2 + i * 12) == 274) {
      const std::size_t value = word(start + 2 + i * 12 + 8);
      return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
    }
  return 1;
}

/// The picture as it was seen.
Image oriented(Image from, int orientation) {
  if (orientation <= 1) return from;
  const bool turned = orientation >= 5;
  const std::int64_t w = from.width, h = from.height;
  Image out{turned ? h : w, turned ? w : h, std::vector<std::uint8_t>(from.rgb.size())};
  for (std::int64_t y = 0; y < out.height; y++)
    for (std::int64_t x = 0; x < out.width; x++) {
      std::int64_t sx = turned ? y : x, sy = turned ? x : y;
      if (orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8)
        sx = w - 1 - sx;
      if (orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7)
        sy = h - 1 - sy;
      std::memcpy(&out.rgb[static_cast<std::size_t>(y * out.width + x) * 3],
                  &from.rgb[static_cast<std::size_t>(sy * w + sx) * 3], 3);
    }
  return out;
}

Image decode_jpeg(std::span<const std::byte> bytes, const std::string& name) {
  JpegErrors errors{};
  jpeg_decompress_struct info{};
  Image out;
  const auto grow = [](void* self, unsigned width, unsigned height) -> std::uint8_t* {
    auto& image = *static_cast<Image*>(self);
    image.width = width;
    image.height = height;
    if (width > side_limit || height > side_limit || image.width * image.height > pixels_limit)
      return nullptr;
    image.rgb.resize(static_cast<std::size_t>(image.width * image.height) * 3);
    return image.rgb.data();
  };
  if (!decode_jpeg_rows(bytes, errors, info, &out, grow))
    fail(Code::bad_argument, name, ": not a readable JPEG: ", errors.text);
  int orientation = 1;
  for (jpeg_saved_marker_ptr m = info.marker_list; m; m = m->next)
    if (m->marker == JPEG_APP0 + 1 && orientation == 1)
      orientation = exif_orientation(m->data, m->data_length);
  jpeg_destroy_decompress(&info);
  check_size(out.width, out.height, name);
  return oriented(std::move(out), orientation);
}

}  // namespace

bool is_image(std::span<const std::byte> bytes) { return is_png(bytes) || is_jpeg(bytes); }

Image decode_image(std::span<const std::byte> bytes, const std::string& name) {
  if (is_png(bytes)) return decode_png(bytes, name);
  if (is_jpeg(bytes)) return decode_jpeg(bytes, name);
  fail(Code::bad_argument, name, ": a PNG or JPEG picture expected");
}

}  // namespace longshore
