#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "base/error.hpp"
#include "read/image.hpp"

namespace longshore {
namespace {

using Layout = ImageOptions::Layout;
using Resize = ImageOptions::Resize;

struct LayoutName {
  std::string_view name;
  Layout layout;
};
struct ResizeName {
  std::string_view name;
  Resize resize;
};
constexpr LayoutName layouts[] = {
    {"auto", Layout::automatic}, {"nchw", Layout::nchw}, {"nhwc", Layout::nhwc}};
constexpr ResizeName resizes[] = {
    {"stretch", Resize::stretch}, {"crop", Resize::crop}, {"letterbox", Resize::letterbox}};

/// More channels than any picture has.
constexpr std::size_t most_numbers = 16;

std::string list(const std::vector<float>& numbers) {
  std::string out;
  for (float x : numbers) out += fmt::format("{}{}", out.empty() ? "" : ",", x);
  return out;
}

[[noreturn]] void bad(std::string_view line) {
  fail(Code::bad_model, "how pictures are read: found '", line.substr(0, 80),
       "', expected an option for pictures and its value");
}

std::vector<float> numbers(std::string_view text, std::string_view line) {
  std::vector<float> out;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    float x = 0;
    const auto [stop, code] = std::from_chars(text.data() + begin, text.data() + end, x);
    if (code != std::errc{} || stop != text.data() + end || !std::isfinite(x) ||
        out.size() == most_numbers)
      bad(line);
    out.push_back(x);
    begin = end + 1;
  }
  return out;
}

void read_line(std::string_view line, ImageOptions& out) {
  if (line == "--bgr") {
    out.bgr = true;
    return;
  }
  const std::size_t space = std::min(line.find(' '), line.size());
  const std::string_view option = line.substr(0, space),
                         value = line.substr(std::min(space + 1, line.size()));
  bool known = false;
  if (option == "--layout")
    for (const LayoutName& l : layouts)
      if (l.name == value) known = true, out.layout = l.layout;
  if (option == "--resize")
    for (const ResizeName& r : resizes)
      if (r.name == value) known = true, out.resize = r.resize;
  if (option == "--mean") known = true, out.mean = numbers(value, line);
  if (option == "--std") known = true, out.std = numbers(value, line);
  if (option == "--crop-fraction") {
    const std::vector<float> fraction = numbers(value, line);
    known = fraction.size() == 1 && fraction[0] >= 0.01f && fraction[0] <= 1;
    if (known) out.crop_fraction = fraction[0];
  }
  if (!known) bad(line);
}

}  // namespace

std::string print(const ImageOptions& o) {
  const ImageOptions usual;
  std::string out;
  if (o.mean != usual.mean) out += "--mean " + list(o.mean) + "\n";
  if (o.std != usual.std) out += "--std " + list(o.std) + "\n";
  for (const LayoutName& l : layouts)
    if (o.layout == l.layout && o.layout != usual.layout) out += str("--layout ", l.name, "\n");
  if (o.bgr) out += "--bgr\n";
  for (const ResizeName& r : resizes)
    if (o.resize == r.resize && o.resize != usual.resize) out += str("--resize ", r.name, "\n");
  if (o.crop_fraction != usual.crop_fraction)
    out += fmt::format("--crop-fraction {}\n", o.crop_fraction);
  return out;
}

ImageOptions parse_image_options(std::string_view text) {
  ImageOptions out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    read_line(text.substr(0, end), out);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

}  // namespace longshore
