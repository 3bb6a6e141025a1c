#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <png.h>

#include <cstdio>
#include <jpeglib.h>

#include "onnx_model.hpp"
#include "random.hpp"
#include "read/image.hpp"

namespace longshore::tests::image_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string png(const std::vector<std::uint8_t>& pixels, unsigned width, unsigned height,
                unsigned format) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = width;
  image.height = height;
  image.format = format;
  png_alloc_size_t size = 0;
  EXPECT_TRUE(png_image_write_to_memory(&image, nullptr, &size, 0, pixels.data(), 0, nullptr));
  std::string out(size, '\0');
  EXPECT_TRUE(png_image_write_to_memory(&image, out.data(), &size, 0, pixels.data(), 0, nullptr));
  out.resize(size);
  return out;
}

std::string jpeg(const std::vector<std::uint8_t>& pixels, unsigned width, unsigned height,
                 int orientation = 0) {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* buffer = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &buffer, &size);
  info.image_width = width;
  info.image_height = height;
  info.input_components = 3;
  info.in_color_space = JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, 100, TRUE);
  jpeg_start_compress(&info, TRUE);
  if (orientation) {
    std::string exif("Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\0\0\0\0\0\0\0", 32);
    exif[25] = static_cast<char>(orientation);
    jpeg_write_marker(&info, JPEG_APP0 + 1, reinterpret_cast<const unsigned char*>(exif.data()),
                      static_cast<unsigned>(exif.size()));
  }
  for (unsigned y = 0; y < height; y++) {
    JSAMPROW row = const_cast<JSAMPROW>(pixels.data()) + y * width * 3;
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  std::string out(reinterpret_cast<const char*>(buffer), size);
  jpeg_destroy_compress(&info);
  std::free(buffer);
  return out;
}

Image decode(const std::string& bytes) {
  return decode_image(std::as_bytes(std::span(bytes)), "picture");
}

TEST(Image, PngOfEveryKind) {
  EXPECT_THAT(decode(png({1, 2, 3, 4, 5, 6}, 2, 1, PNG_FORMAT_RGB)).rgb,
              ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(decode(png({1, 2, 3, 0, 4, 5, 6, 128}, 2, 1, PNG_FORMAT_RGBA)).rgb,
              ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(decode(png({7, 9}, 1, 2, PNG_FORMAT_GRAY)).rgb, ElementsAre(7, 7, 7, 9, 9, 9));
}

TEST(Image, JpegIsNearTheOriginal) {
  std::vector<std::uint8_t> flat;
  for (int i = 0; i < 64; i++) flat.insert(flat.end(), {200, 100, 50});
  const Image image = decode(jpeg(flat, 8, 8));
  EXPECT_EQ(image.width, 8);
  for (std::size_t i = 0; i < flat.size(); i++) EXPECT_NEAR(image.rgb[i], flat[i], 2);
}

/// Where the corner that was written as the top left must appear for each orientation of a 16 x 8
/// picture.
TEST(Image, OrientationIsApplied) {
  std::vector<std::uint8_t> pixels(16 * 8 * 3, 0);
  for (unsigned y = 0; y < 4; y++)
    for (unsigned x = 0; x < 8; x++)
      for (unsigned c = 0; c < 3; c++) pixels[(y * 16 + x) * 3 + c] = 255;
  const auto bright = [](const Image& i, std::int64_t x, std::int64_t y) {
    return i.rgb[static_cast<std::size_t>(y * i.width + x) * 3] > 128;
  };
  struct Row {
    int orientation;
    bool right, bottom;
  };
  for (const Row& r :
       {Row{1, false, false}, Row{2, true, false}, Row{3, true, true}, Row{4, false, true},
        Row{5, false, false}, Row{6, true, false}, Row{7, true, true}, Row{8, false, true}}) {
    const Image image = decode(jpeg(pixels, 16, 8, r.orientation));
    EXPECT_EQ(image.width, r.orientation >= 5 ? 8 : 16) << r.orientation;
    EXPECT_TRUE(bright(image, r.right ? image.width - 2 : 1, r.bottom ? image.height - 2 : 1))
        << r.orientation;
    EXPECT_FALSE(bright(image, r.right ? 1 : image.width - 2, r.bottom ? 1 : image.height - 2))
        << r.orientation;
  }
}

TEST(Image, DamagedFilesAreErrors) {
  std::vector<std::uint8_t> noise;
  std::mt19937 rng(seed());
  for (int i = 0; i < 32 * 32 * 3; i++) noise.push_back(static_cast<std::uint8_t>(rng()));
  for (const std::string& whole : {png(noise, 32, 32, PNG_FORMAT_RGB), jpeg(noise, 32, 32)}) {
    for (std::size_t cut = 8; cut + 16 < whole.size(); cut += 97)
      EXPECT_THROW(decode(whole.substr(0, cut)), Error) << cut;
    for (int i = 0; i < 300; i++) {
      std::string flipped = whole;
      flipped[rng() % flipped.size()] ^= static_cast<char>(1 << rng() % 8);
      try {
        decode(flipped);
      } catch (const Error& e) {
        EXPECT_NE(e.code(), Code::internal);
      }
    }
  }
  EXPECT_THROW(decode("GIF89a"), Error);
}

TEST(Image, ResizeAveragesWhenShrinkingAndInterpolatesWhenGrowing) {
  const Image four{4, 1, {0, 0, 0, 100, 100, 100, 200, 200, 200, 40, 40, 40}};
  // Step 2: triangle of half width 2 around 1 and 3; weights 0.75 0.75 0.25 | 0.25 0.75 0.75,
  // normalised.
  const Image half = resize_image(four, 0, 0, 4, 1, 2, 1);
  EXPECT_EQ(half.rgb[0], std::lround((0.75 * 0 + 0.75 * 100 + 0.25 * 200) / 1.75));
  EXPECT_EQ(half.rgb[3], std::lround((0.25 * 100 + 0.75 * 200 + 0.75 * 40) / 1.75));
  const Image same = resize_image(four, 0, 0, 4, 1, 4, 1);
  EXPECT_EQ(same.rgb, four.rgb);
  const Image twice = resize_image(Image{2, 1, {0, 0, 0, 100, 100, 100}}, 0, 0, 2, 1, 4, 1);
  EXPECT_THAT((std::vector<int>{twice.rgb[0], twice.rgb[3], twice.rgb[6], twice.rgb[9]}),
              ElementsAre(0, 25, 75, 100));
}

TEST(Image, BecomesATensor) {
  const Image image{2, 1, {10, 20, 30, 40, 50, 60}};
  ImageOptions o;
  o.mean = {10, 20, 30};
  o.std = {2};
  EXPECT_EQ(image_tensor(image, TensorType(DType::f32, Shape{1, 3, 1, 2}), o, "p"),
            make_floats(Shape{1, 3, 1, 2}, std::vector<float>{0, 15, 0, 15, 0, 15}));
  o = {};
  o.bgr = true;
  const Tensor bytes =
      image_tensor(image, TensorType(DType::u8, Dims{Dim(1), Dim(), Dim(), Dim(3)}), o, "p");
  EXPECT_THAT(bytes.values<std::uint8_t>(), ElementsAre(30, 20, 10, 60, 50, 40));
  const Tensor grey = image_tensor(image, TensorType(DType::u8, Shape{1, 1, 2}), {}, "p");
  EXPECT_THAT(grey.values<std::uint8_t>(), ElementsAre(18, 48));
}

TEST(Image, CropAndLetterboxKeepTheProportions) {
  Image wide{8, 4, {}};
  for (int i = 0; i < 32; i++)
    wide.rgb.insert(wide.rgb.end(), 3,
                    static_cast<std::uint8_t>(i % 8 < 2 || i % 8 >= 6 ? 0 : 200));
  ImageOptions o;
  o.resize = ImageOptions::Resize::crop;
  const TensorType square(DType::u8, Shape{1, 3, 4, 4});
  const Tensor cropped = image_tensor(wide, square, o, "p");
  for (const std::uint8_t x : cropped.values<std::uint8_t>()) EXPECT_EQ(x, 200);
  o.resize = ImageOptions::Resize::letterbox;
  const Tensor boxed = image_tensor(wide, square, o, "p");
  EXPECT_EQ(boxed.values<std::uint8_t>()[0], 114);
  EXPECT_EQ(boxed.values<std::uint8_t>()[15], 114);
  EXPECT_NE(boxed.values<std::uint8_t>()[5], 114);
}

TEST(Image, WhatDoesNotFitIsNamed) {
  const Image image{1, 1, {0, 0, 0}};
  const auto error = [&](const TensorType& t, const ImageOptions& o = {}) -> std::string {
    try {
      image_tensor(image, t, o, "p.png");
    } catch (const Error& e) {
      return e.what();
    }
    return "no error";
  };
  EXPECT_THAT(error(TensorType(DType::f32, Shape{1, 10})),
              HasSubstr("p.png: a picture does not fit an input of type f32[1, 10]"));
  EXPECT_THAT(error(TensorType(DType::f32, Shape{2, 3, 4, 4})), HasSubstr("batch of 2"));
  EXPECT_THAT(error(TensorType(DType::f32, Shape{1, 4, 4, 4})), HasSubstr("no axis of 1 or 3"));
  EXPECT_THAT(error(TensorType(DType::i64, Shape{1, 3, 4, 4})), HasSubstr("does not fit"));
  ImageOptions o;
  o.mean = {1, 2};
  EXPECT_THAT(error(TensorType(DType::f32, Shape{1, 3, 4, 4}), o), HasSubstr("1 or 3 numbers"));
}

TEST(ImageOptions, AreTextAndBack) {
  ImageOptions o;
  EXPECT_EQ(print(o), "");
  EXPECT_TRUE(parse_image_options("") == o);
  o.mean = {127.5f, 0.1f, -3};
  o.std = {1e-3f};
  o.layout = ImageOptions::Layout::nhwc;
  o.bgr = true;
  o.resize = ImageOptions::Resize::letterbox;
  o.crop_fraction = 0.875f;
  EXPECT_EQ(print(o),
            "--mean 127.5,0.1,-3\n--std 0.001\n--layout nhwc\n--bgr\n--resize letterbox\n"
            "--crop-fraction 0.875\n");
  EXPECT_TRUE(parse_image_options(print(o)) == o);
}

TEST(ImageOptions, RefuseOtherText) {
  for (const char* text :
       {"--mean", "--mean ", "--mean 1,", "--mean nan", "--mean 1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1",
        "--std x", "--layout", "--layout NCHW", "--bgr 1", "--resize zoom", "--crop-fraction 0",
        "--crop-fraction 0.5,0.5", "--crop-fraction inf", "\n", "--output x", "mean 1"})
    EXPECT_THROW(parse_image_options(text), Error) << text;
}

}  // namespace
}  // namespace longshore::tests::image_test
