#include "read/image.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/file.hpp"
#include "read/read.hpp"
#include "tensor/visit.hpp"

namespace longshore {
namespace {

/// For one output pixel: the source pixels that count and how much.
struct Taps {
  std::int64_t first;
  std::vector<std::int32_t> weights;  // sum to about 1 << weight_bits
};

/// Weights and sums are whole numbers, as in Pillow, so that the result is the same everywhere.
constexpr int weight_bits = 22;

/// Pillow's triangle filter: as wide as one source pixel, or as the step when shrinking.
std::vector<Taps> triangle(double start, double length, std::int64_t from, std::int64_t to) {
  const auto begin = static_cast<float>(start),
             end = static_cast<float>(start + length);  // as Pillow's box
  const double step = static_cast<double>(end - begin) / static_cast<double>(to),
               support = std::max(step, 1.0);
  std::vector<Taps> out;
  for (std::int64_t i = 0; i < to; i++) {
    const double centre = static_cast<double>(begin) + (static_cast<double>(i) + 0.5) * step;
    const auto low = std::max<std::int64_t>(0, static_cast<std::int64_t>(centre - support + 0.5));
    const auto high =
        std::min<std::int64_t>(from, static_cast<std::int64_t>(centre + support + 0.5));
    Taps taps{std::min(low, from - 1), {}};
    std::vector<double> real;
    double sum = 0;
    for (std::int64_t s = low; s < high; s++) {
      const double w =
          std::max(0.0, 1.0 - std::abs((static_cast<double>(s) + 0.5 - centre) / support));
      real.push_back(w);
      sum += w;
    }
    if (!(sum > 0)) real.assign(1, sum = 1);
    for (const double w : real)
      taps.weights.push_back(static_cast<std::int32_t>(0.5 + w / sum * (1 << weight_bits)));
    out.push_back(std::move(taps));
  }
  return out;
}

/// Sums start from a half of the last bit that goes.
constexpr std::int64_t half = std::int64_t{1} << (weight_bits - 1);
std::uint8_t level(std::int64_t sum) {
  return static_cast<std::uint8_t>(std::clamp<std::int64_t>(sum >> weight_bits, 0, 255));
}

bool counts_channels(const Dim& d) { return d.known() && (d.value == 1 || d.value == 3); }

/// Where the numbers of a picture go.
struct Place {
  bool nchw = true;
  std::int64_t channels = 3, height = 0, width = 0;
  Shape shape;
};

Place place_for(const TensorType& input, const Image& image, ImageOptions::Layout layout,
                const std::string& name) {
  if (!input.ranked || (input.rank() != 3 && input.rank() != 4))
    fail(Code::bad_argument, name, ": a picture does not fit an input of type ", print(input));
  const auto dim = [&](int i) { return input.dims[static_cast<std::size_t>(i)]; };
  const int lead = input.rank() - 3;
  if (lead == 1 && dim(0).known() && dim(0).value != 1)
    fail(Code::bad_argument, name, ": one picture does not fill a batch of ", dim(0).value);
  Place p;
  p.nchw = channels_first(input, layout);
  const int c = p.nchw ? lead : lead + 2, h = p.nchw ? lead + 1 : lead, w = h + 1;
  if (dim(c).known() && !counts_channels(dim(c)))
    fail(Code::bad_argument, name, ": an input of type ", print(input),
         " has no axis of 1 or 3 channels where ", p.nchw ? "nchw" : "nhwc", " has it");
  p.channels = dim(c).known() ? dim(c).value : 3;
  p.height = dim(h).known() ? dim(h).value : image.height;
  p.width = dim(w).known() ? dim(w).value : image.width;
  if (p.height < 1 || p.width < 1 || p.height > 32768 || p.width > 32768)
    fail(Code::bad_argument, name, ": a picture cannot have ", p.width, " x ", p.height, " pixels");
  if (lead == 1) p.shape.push(1);
  if (p.nchw) p.shape.push(p.channels);
  p.shape.push(p.height);
  p.shape.push(p.width);
  if (!p.nchw) p.shape.push(p.channels);
  return p;
}

Image fitted(const Image& image, const Place& p, const ImageOptions& o) {
  const auto w = static_cast<double>(image.width), h = static_cast<double>(image.height);
  const double wanted = static_cast<double>(p.width) / static_cast<double>(p.height);
  if (o.resize == ImageOptions::Resize::stretch)
    return resize_image(image, 0, 0, w, h, p.width, p.height);
  if (o.resize == ImageOptions::Resize::crop) {
    const double cw = std::min(w, h * wanted) * o.crop_fraction,
                 ch = std::min(h, w / wanted) * o.crop_fraction;
    return resize_image(image, (w - cw) / 2, (h - ch) / 2, cw, ch, p.width, p.height);
  }
  const double scale =
      std::min(static_cast<double>(p.width) / w, static_cast<double>(p.height) / h);
  const auto inner_w = std::clamp<std::int64_t>(std::llround(w * scale), 1, p.width);
  const auto inner_h = std::clamp<std::int64_t>(std::llround(h * scale), 1, p.height);
  const Image inner = resize_image(image, 0, 0, w, h, inner_w, inner_h);
  Image out{p.width, p.height,
            std::vector<std::uint8_t>(static_cast<std::size_t>(p.width * p.height) * 3, o.border)};
  const std::int64_t left = (p.width - inner_w) / 2, top = (p.height - inner_h) / 2;
  for (std::int64_t y = 0; y < inner_h; y++)
    std::copy_n(inner.rgb.begin() + y * inner_w * 3, inner_w * 3,
                out.rgb.begin() + ((top + y) * p.width + left) * 3);
  return out;
}

}  // namespace

bool channels_first(const TensorType& input, ImageOptions::Layout layout) {
  if (layout != ImageOptions::Layout::automatic) return layout == ImageOptions::Layout::nchw;
  const std::size_t last = input.dims.size() - 1;
  return counts_channels(input.dims[last - 2]) || !counts_channels(input.dims[last]);
}

float channel_number(const std::vector<float>& list, std::int64_t channel) {
  return list[list.size() == 1 ? 0 : static_cast<std::size_t>(channel)];
}

Image resize_image(const Image& from, double x, double y, double width, double height,
                   std::int64_t to_width, std::int64_t to_height) {
  const std::vector<Taps> columns = triangle(x, width, from.width, to_width);
  const std::vector<Taps> rows = triangle(y, height, from.height, to_height);
  // Columns first, and only of the rows that will be used.
  const std::int64_t first = rows.front().first;
  const std::int64_t last =
      rows.back().first + static_cast<std::int64_t>(rows.back().weights.size());
  std::vector<std::uint8_t> between(static_cast<std::size_t>((last - first) * to_width) * 3);
  for (std::int64_t r = first; r < last; r++)
    for (std::int64_t i = 0; i < to_width; i++) {
      const Taps& t = columns[static_cast<std::size_t>(i)];
      const std::uint8_t* p = from.rgb.data() + (r * from.width + t.first) * 3;
      std::int64_t sum[3] = {half, half, half};
      for (const std::int32_t w : t.weights)
        for (std::int64_t& s : sum) s += std::int64_t{w} * *p++;
      std::transform(sum, sum + 3, between.begin() + ((r - first) * to_width + i) * 3, level);
    }
  Image out{to_width, to_height,
            std::vector<std::uint8_t>(static_cast<std::size_t>(to_width * to_height) * 3)};
  const std::int64_t line = to_width * 3;
  for (std::int64_t i = 0; i < to_height; i++) {
    const Taps& t = rows[static_cast<std::size_t>(i)];
    for (std::int64_t j = 0; j < line; j++) {
      std::int64_t sum = half;
      const std::uint8_t* column = between.data() + (t.first - first) * line + j;
      for (std::size_t k = 0; k < t.weights.size(); k++, column += line)
        sum += std::int64_t{t.weights[k]} * *column;
      out.rgb[static_cast<std::size_t>(i * line + j)] = level(sum);
    }
  }
  return out;
}

Tensor image_tensor(const Image& image, const TensorType& input, const ImageOptions& o,
                    const std::string& name) {
  const Place p = place_for(input, image, o.layout, name);
  for (const std::vector<float>* list : {&o.mean, &o.std})
    if (list->size() != 1 && list->size() != static_cast<std::size_t>(p.channels))
      fail(Code::bad_argument, name, ": mean and std take 1 or ", p.channels, " numbers here, not ",
           list->size());
  for (const float s : o.std)
    if (!(std::abs(s) > 0)) fail(Code::bad_argument, "std must not be 0");
  const Image sized = fitted(image, p, o);
  const std::int64_t area = p.height * p.width;
  std::vector<std::byte> bytes(static_cast<std::size_t>(area * p.channels) *
                               size_bytes(input.dtype));
  const bool known =
      visit_type(TypeList<float, Float16, std::uint8_t>{}, input.dtype, [&]<class T>() {
        T* out = reinterpret_cast<T*>(bytes.data());
        for (std::int64_t i = 0; i < area; i++) {
          const std::uint8_t* rgb = &sized.rgb[static_cast<std::size_t>(i) * 3];
          for (std::int64_t c = 0; c < p.channels; c++) {
            const std::int64_t at = p.nchw ? c * area + i : i * p.channels + c;
            // Grey as Pillow's: ITU-R 601 weights in 16-bit fixed point.
            const int pixel = p.channels == 1
                                  ? (rgb[0] * 19595 + rgb[1] * 38470 + rgb[2] * 7471 + 0x8000) >> 16
                                  : rgb[o.bgr ? 2 - c : c];
            if constexpr (std::is_same_v<T, std::uint8_t>)
              out[at] = static_cast<std::uint8_t>(pixel);
            else
              out[at] = T((static_cast<float>(pixel) - channel_number(o.mean, c)) /
                          channel_number(o.std, c));
          }
        }
      });
  if (!known)
    fail(Code::bad_argument, name, ": a picture does not fit an input of type ", print(input));
  return {input.dtype, p.shape, make_blob(std::move(bytes))};
}

Tensor read_input(const std::string& path, const TensorType& input, const ImageOptions& options) {
  const Result<SharedBlob> file = read_file(path);
  require(file.status());
  if (!is_image((*file)->bytes())) return read_tensor(path);
  return image_tensor(decode_image((*file)->bytes(), path), input, options, path);
}

}  // namespace longshore
