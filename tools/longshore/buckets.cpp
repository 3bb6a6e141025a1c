#include "buckets.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include <fmt/format.h>

#include "base/error.hpp"
#include "say.hpp"

namespace longshore {
namespace {

constexpr std::int64_t largest = 1 << 24;

double part_of_padding(double mean_length, std::int64_t size) {
  return 1 - mean_length / static_cast<double>(size);
}

}  // namespace

Buckets parse_buckets(const std::string& text) {
  Buckets out;
  const std::size_t at = text.rfind('=');
  const auto refuse = [&](const std::string& what) {
    fail(Code::bad_argument, "--buckets ", text,
         ": NAME=N,N,... expected, sizes of a dimension from 1 to ", largest, "; found ", what);
  };
  if (at == std::string::npos || at == 0) refuse("no NAME=");
  out.dim = text.substr(0, at);
  for (std::size_t from = at + 1; from <= text.size();) {
    const std::size_t end = std::min(text.find(',', from), text.size());
    std::int64_t size = 0;
    const auto [stop, error] = std::from_chars(text.data() + from, text.data() + end, size);
    if (error != std::errc() || stop != text.data() + end || size < 1 || size > largest)
      refuse(str("'", text.substr(from, end - from), "'"));
    if (std::ranges::find(out.sizes, size) != out.sizes.end()) refuse(str(size, " twice"));
    out.sizes.push_back(size);
    from = end + 1;
  }
  std::ranges::sort(out.sizes);
  return out;
}

Padding padding_of(std::span<const Bucket> buckets, std::size_t i) {
  const std::int64_t size = buckets[i].size;
  Padding out;
  out.from = i == 0 ? 1 : buckets[i - 1].size + 1;
  out.most = part_of_padding(static_cast<double>(out.from), size);
  out.mean = part_of_padding(static_cast<double>(out.from + size) / 2, size);
  return out;
}

Mean mean_of(std::span<const Bucket> buckets) {
  double ms = 0, elements = 0, lengths = 0;
  for (std::size_t i = 0; i < buckets.size(); i++) {
    const Padding p = padding_of(buckets, i);
    const auto count = static_cast<double>(buckets[i].size - p.from + 1);
    ms += count * buckets[i].ms;
    elements += count * static_cast<double>(buckets[i].size);
    lengths += count * static_cast<double>(p.from + buckets[i].size) / 2;
  }
  return {ms / static_cast<double>(buckets.back().size), 1 - lengths / elements};
}

std::string text_of(const Buckets& b, std::span<const Bucket> buckets) {
  std::string out = fmt::format("{:<24}{:>10}{:>18}{:>15}{:>9}\n", b.dim, "ms", "for lengths",
                                "mean padding", "most");
  for (std::size_t i = 0; i < buckets.size(); i++) {
    const Padding p = padding_of(buckets, i);
    out +=
        fmt::format("{:<24}{:>10.3f}{:>18}{:>13.1f} %{:>7.1f} %\n", buckets[i].size, buckets[i].ms,
                    fmt::format("{} to {}", p.from, buckets[i].size), 100 * p.mean, 100 * p.most);
  }
  const Mean mean = mean_of(buckets), alone = mean_of(buckets.last(1));
  out += fmt::format(
      "\nWith all lengths from 1 to {} equally likely: {:.3f} ms, {:.1f} % padding;\n"
      "by the largest alone {:.3f} ms, {:.1f} %.\n",
      buckets.back().size, mean.ms, 100 * mean.padding, alone.ms, 100 * alone.padding);
  for (const Bucket& bucket : buckets)
    if (!bucket.bundle.empty()) out += fmt::format("bundle  {}\n", bucket.bundle);
  return out + "Predicted. The model must ignore what is padded, by a mask for example.\n";
}

Json json_of(const Buckets& b, std::span<const Bucket> buckets) {
  Json list = Json::array();
  for (std::size_t i = 0; i < buckets.size(); i++) {
    const Padding p = padding_of(buckets, i);
    list.push_back({{"size", buckets[i].size},
                    {"latency_ms", buckets[i].ms},
                    {"from", p.from},
                    {"mean_padding", p.mean},
                    {"most_padding", p.most},
                    {"bundle", buckets[i].bundle.empty() ? Json() : Json(buckets[i].bundle)}});
  }
  const Mean mean = mean_of(buckets), alone = mean_of(buckets.last(1));
  return {{"dim", b.dim},
          {"buckets", list},
          {"mean_ms", mean.ms},
          {"mean_padding", mean.padding},
          {"largest_alone_ms", alone.ms},
          {"largest_alone_padding", alone.padding},
          {"warnings", warnings()}};
}

std::string with_size(std::string text, std::int64_t size) {
  for (std::size_t at = 0; (at = text.find("{}", at)) != std::string::npos;)
    text.replace(at, 2, str(size));
  return text;
}

std::string file_of(const std::string& path, const Buckets& b, std::int64_t size) {
  if (path.empty() || path.find("{}") != std::string::npos) return with_size(path, size);
  const std::filesystem::path p = path;
  return (p.parent_path() / str(p.stem().string(), "-", b.dim, "_", size, p.extension().string()))
      .string();
}

}  // namespace longshore
