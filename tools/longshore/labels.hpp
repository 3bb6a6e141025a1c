#pragma once
#include <string>
#include <vector>

namespace longshore {

/// The lines of a --labels file, without what ends them; none for no file.
std::vector<std::string> read_labels(const std::string& path);

}  // namespace longshore
