#include "measure/svg_timeline.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "measure/live_arena.hpp"
#include "program/print.hpp"

namespace longshore {
namespace {

constexpr double left = 76, width = 1100, right = 24, top = 66, row_height = 24, bar_height = 18,
                 memory_height = 90;

/// Neighbouring layers differ much; readable on white, and told apart by those who see few colours
/// by their lightness.
constexpr std::array<const char*, 8> layer_colours = {"#4477aa", "#ee6677", "#228833", "#ccbb44",
                                                      "#66ccee", "#aa3377", "#997700", "#88aadd"};
constexpr const char *dispatch_colour = "#444444", *cache_colour = "#999999",
                     *waiting_colour = "#dddddd", *no_layer_colour = "#777777";

/// Length of the UTF-8 sequence that begins there; 0: none does.
std::size_t sequence(const std::string& s, std::size_t at) {
  const auto byte = static_cast<unsigned char>(s[at]);
  const std::size_t length = byte < 0x80                   ? 1
                             : byte >= 0xc2 && byte < 0xe0 ? 2
                             : byte >= 0xe0 && byte < 0xf0 ? 3
                             : byte >= 0xf0 && byte < 0xf5 ? 4
                                                           : 0;
  if (length == 0 || at + length > s.size()) return 0;
  for (std::size_t i = 1; i < length; i++)
    if ((static_cast<unsigned char>(s[at + i]) & 0xc0) != 0x80) return 0;
  const auto second = length > 2 ? static_cast<unsigned char>(s[at + 1]) : 0x80;
  // Overlong forms, surrogates and what lies beyond Unicode are no characters of XML.
  if ((byte == 0xe0 && second < 0xa0) || (byte == 0xed && second >= 0xa0) ||
      (byte == 0xf0 && second < 0x90) || (byte == 0xf4 && second >= 0x90))
    return 0;
  // U+FFFE and U+FFFF neither.
  if (byte == 0xef && second == 0xbf && static_cast<unsigned char>(s[at + 2]) >= 0xbe) return 0;
  return length;
}

/// As text of XML; what that cannot hold becomes a question mark.
std::string escaped(const std::string& s) {
  std::string out;
  for (std::size_t i = 0; i < s.size();) {
    const std::size_t length = sequence(s, i);
    const char c = s[i];
    if (length > 1)
      out += s.substr(i, length);
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else
      out += length == 0 || (static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n') ||
                     c == 0x7f
                 ? '?'
                 : c;
    i += std::max<std::size_t>(length, 1);
  }
  return out;
}

std::string text(double x, double y, const std::string& what, const char* anchor = "start") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor,
                     escaped(what));
}

/// The distance of marks on an axis: 1, 2 or 5 times a power of ten, at most `most` of them.
double round_step(double whole, double most) {
  const double power = std::pow(10, std::floor(std::log10(std::max(whole / most, 1e-9))));
  for (const double factor : {1.0, 2.0, 5.0})
    if (whole / (factor * power) <= most) return factor * power;
  return 10 * power;
}

std::string shown(double ns) {
  return ns < 1e6 ? fmt::format("{:.2f} us", ns * 1e-3) : fmt::format("{:.3f} ms", ns * 1e-6);
}

class Picture {
 public:
  Picture(const Program& p, const Timing& t, double narrowest)
      : program_(p),
        timing_(t),
        narrowest_(narrowest),
        scale_(width / std::max(t.total_ns, 1e-9)),
        cpu_(cpu_engine(p.machine)) {}

  std::string draw(const std::string& title) {
    std::vector<std::vector<const Interval*>> rows(cpu_ + 1);
    for (const Interval& i : timing_.intervals) rows[i.engine].push_back(&i);
    double y = top;
    for (EngineId e = 0; e <= cpu_; e++) {
      if (rows[e].empty()) continue;
      body_ += text(left - 8, y + bar_height - 4, engine_name(program_.machine, e), "end");
      draw_row(rows[e], y);
      y += row_height;
    }
    const double marks = y;
    axis(marks);
    y = memory(marks + 40);
    std::string out = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
        "width=\"{0:.0f}\" "
        "height=\"{1:.0f}\" font-family=\"sans-serif\" font-size=\"12\">\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
        left + width + right, y + 12);
    out +=
        fmt::format("<text x=\"{}\" y=\"22\" font-size=\"15\">{}</text>\n", left, escaped(title));
    return out + legend() + body_ + "</svg>\n";
  }

 private:
  const char* colour(const Interval& i) const {
    switch (i.activity) {
      case Activity::dispatch:
        return dispatch_colour;
      case Activity::cache:
        return cache_colour;
      case Activity::waiting:
      case Activity::idle:
        return waiting_colour;
      case Activity::compute:
      case Activity::dma:
      case Activity::host:
        break;
    }
    return i.layer == no_index ? no_layer_colour : layer_colours[i.layer % layer_colours.size()];
  }

  std::string layer(std::uint32_t number) const {
    return number < program_.layers.size() ? program_.layers[number] : "no layer";
  }

  std::string what(const Interval& i) const {
    if (i.activity != Activity::compute && i.activity != Activity::host) return name(i.activity);
    if (i.engine == cpu_) return program_.steps[i.index].name;
    return name(program_.queues[i.engine % queue_count][i.index].operation);
  }

  void bar(double from, double to, double y, const char* fill, const std::string& tooltip) {
    body_ += fmt::format(
        "<rect x=\"{:.2f}\" y=\"{:.0f}\" width=\"{:.2f}\" height=\"{:.0f}\" fill=\"{}\">"
        "<title>{}</title></rect>\n",
        left + from, y, std::max(to - from, 0.05), bar_height, fill, escaped(tooltip));
  }

  /// Bars that are too narrow are joined with those that follow within the same width.
  void draw_row(const std::vector<const Interval*>& row, double y) {
    for (std::size_t i = 0; i < row.size();) {
      const double from = row[i]->start_ns * scale_;
      std::size_t end = i + 1;
      if ((row[i]->end_ns - row[i]->start_ns) * scale_ < narrowest_)
        while (end < row.size() && row[end]->end_ns * scale_ - from < narrowest_) end++;
      if (end == i + 1)
        one(*row[i], y);
      else
        several(std::span(row).subspan(i, end - i), y);
      i = end;
    }
  }

  void one(const Interval& i, double y) {
    bar(i.start_ns * scale_, i.end_ns * scale_, y, colour(i),
        fmt::format("{}: {}\n{} from {} on", layer(i.layer), what(i), shown(i.end_ns - i.start_ns),
                    shown(i.start_ns)));
  }

  /// One bar for all, in the colour of the longest.
  void several(std::span<const Interval* const> all, double y) {
    const auto length = [](const Interval* i) { return i->end_ns - i->start_ns; };
    const Interval& longest = **std::ranges::max_element(all, {}, length);
    double busy = 0;
    for (const Interval* i : all) busy += length(i);
    bar(all.front()->start_ns * scale_, all.back()->end_ns * scale_, y, colour(longest),
        fmt::format("{} to {}: {} bars, {} of work\nfrom {} on", layer(all.front()->layer),
                    layer(all.back()->layer), all.size(), shown(busy),
                    shown(all.front()->start_ns)));
  }

  void axis(double y) {
    const bool ms = timing_.total_ns >= 1e6;
    const double unit = ms ? 1e6 : 1e3, step = round_step(timing_.total_ns / unit, 12);
    body_ += fmt::format("<path d=\"M{0} {1}H{2}\" stroke=\"#000\"/>\n", left, y, left + width);
    for (int i = 0; i * step * unit <= timing_.total_ns; i++) {
      const double x = left + i * step * unit * scale_;
      body_ +=
          fmt::format("<path d=\"M{0:.1f} {1}V{2}\" stroke=\"#000\" stroke-opacity=\"0.15\"/>\n", x,
                      top, y + 5);
      body_ += text(x, y + 18, fmt::format("{:g}", i * step), "middle");
    }
    body_ += text(left - 8, y + 18, ms ? "ms" : "us", "end");
  }

  /// The most live bytes within each pixel, as steps. Gives the end of the drawing.
  double memory(double y) {
    const std::vector<LiveBytes> live = live_arena(program_, timing_);
    std::uint64_t most = 0;
    for (const LiveBytes& l : live) most = std::max(most, l.bytes);
    if (most == 0) return y - 24;
    const double bottom = y + memory_height, whole = static_cast<double>(most);
    std::string path = fmt::format("M{} {}", left, bottom);
    const auto height = [&](std::uint64_t bytes) {
      return bottom - static_cast<double>(bytes) / whole * memory_height;
    };
    std::uint64_t now = 0;
    std::size_t next = 0;
    for (int x = 0; x < static_cast<int>(width); x++) {
      std::uint64_t here = now;
      for (; next < live.size() && live[next].ns * scale_ < x + 1; next++)
        here = std::max(here, now = live[next].bytes);
      path += fmt::format("L{} {:.1f}h1", left + x, height(here));
    }
    body_ += fmt::format("<path d=\"{}V{}Z\" fill=\"#88aadd\" stroke=\"none\"/>\n", path, bottom);
    body_ += fmt::format("<path d=\"M{0} {1}V{2}H{3}\" fill=\"none\" stroke=\"#000\"/>\n", left, y,
                         bottom, left + width);
    body_ += text(left - 8, y + 10, fmt::format("{:.1f}", whole / 1024), "end");
    body_ += text(left - 8, bottom, "0", "end");
    body_ += text(left - 8, y + memory_height / 2 + 4, "KiB live", "end");
    body_ +=
        text(left, bottom + 18,
             fmt::format("bytes of the arena that are still read: at most {:.1f} KiB of {:.1f}",
                         whole / 1024, static_cast<double>(program_.arena_bytes) / 1024));
    return bottom + 24;
  }

  std::string legend() const {
    std::string out;
    double x = left;
    const auto entry = [&](std::span<const char* const> fills, const std::string& what) {
      for (const char* fill : fills) {
        out += fmt::format("<rect x=\"{:.0f}\" y=\"36\" width=\"11\" height=\"11\" fill=\"{}\"/>\n",
                           x, fill);
        x += 12;
      }
      out += text(x + 3, 46, what);
      x += 24 + 6.5 * static_cast<double>(what.size());
    };
    entry(layer_colours, "work and transfers, a colour for each layer");
    for (const auto& [fill, what] :
         {std::pair{dispatch_colour, "dispatch"}, std::pair{cache_colour, "cache"},
          std::pair{waiting_colour, "waiting"}, std::pair{no_layer_colour, "no layer"}})
      entry(std::span(&fill, 1), what);
    return out;
  }

  const Program& program_;
  const Timing& timing_;
  double narrowest_, scale_;
  EngineId cpu_;
  std::string body_;
};

}  // namespace

std::string svg_timeline(const Program& p, const Timing& t, const std::string& title,
                         const SvgOptions& options) {
  double narrowest = options.narrowest_px;
  std::string out = Picture(p, t, narrowest).draw(title);
  // A bar of the whole width is the end.
  while (out.size() > options.most_bytes && narrowest < width) {
    narrowest = std::max(2 * narrowest, 0.1);
    out = Picture(p, t, narrowest).draw(title);
  }
  return out;
}

}  // namespace longshore
