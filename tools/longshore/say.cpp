#include "say.hpp"

#include <cmath>
#include <iostream>

#include <fmt/format.h>

#include "progress.hpp"

namespace longshore {
namespace {

std::vector<std::string>& said() {
  static std::vector<std::string> all;
  return all;
}

}  // namespace

void warn(const std::string& text) {
  said().push_back(text);
  Progress::clear();
  std::cerr << "longshore: warning: " << text << std::endl;
}

const std::vector<std::string>& warnings() { return said(); }

void print_json(const Json& j) {
  Progress::clear();
  std::cout << j.text() << "\n";
}

std::string shown_ms(double ms) { return fmt::format("{:.3f} ms", ms); }

std::string shown_bytes(std::uint64_t bytes) {
  const char* units[] = {"KiB", "MiB", "GiB"};
  double x = static_cast<double>(bytes) / 1024;
  int unit = 0;
  for (; x >= 10240 && unit < 2; unit++) x /= 1024;
  return fmt::format("{:.1f} {}", x, units[unit]);
}

std::string shown_count(double x) {
  const char* units[] = {"", " k", " M", " G", " T"};
  int unit = 0;
  for (; x >= 1000 && unit < 4; unit++) x /= 1000;
  return unit == 0 ? fmt::format("{:.0f}", x)
                   : fmt::format("{:.{}f}{}", x, x < 100 ? 2 : 1, units[unit]);
}

std::string wrapped(std::string_view text, std::size_t first, std::size_t indent,
                    std::string_view at) {
  std::string out;
  std::size_t column = first;
  while (!text.empty()) {
    const std::size_t end = text.find(at);
    std::string_view part = text.substr(0, end == text.npos ? end : end + at.size());
    text.remove_prefix(part.size());
    const std::size_t shown = part.find_last_not_of(' ') + 1;
    if (column + shown > 80 && column > indent) {
      out.erase(out.find_last_not_of(' ') + 1);
      out += "\n" + std::string(indent, ' ');
      column = indent;
    }
    out += part;
    column += part.size();
  }
  return out;
}

std::string short_name(const std::string& s, std::size_t width) {
  if (s.size() <= width) return s;
  if (width < 12) return s.substr(s.size() - width);
  const std::size_t front = (width - 2) / 3;
  return s.substr(0, front) + ".." + s.substr(s.size() - (width - 2 - front));
}

}  // namespace longshore
