#include "labels.hpp"

#include <fstream>

#include "base/error.hpp"

namespace longshore {

std::vector<std::string> read_labels(const std::string& path) {
  std::vector<std::string> lines;
  if (path.empty()) return lines;
  std::ifstream file(path);
  if (!file) fail(Code::io, "--labels ", path, ": cannot be read");
  for (std::string line; std::getline(file, line);) {
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
    lines.push_back(line);
  }
  return lines;
}

}  // namespace longshore
