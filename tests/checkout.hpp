// Files of the checkout that the tests read.
#pragma once
#include <filesystem>

namespace longshore::tests {

/// The named thing in this project, or beside it; empty where it is not. Goes by where the test
/// program lies: __FILE__ may be relative.
inline std::filesystem::path in_checkout(const char* name) {
  for (std::filesystem::path at = std::filesystem::read_symlink("/proc/self/exe");
       at.has_relative_path(); at = at.parent_path())
    if (std::filesystem::exists(at / name)) return at / name;
  return {};
}

}  // namespace longshore::tests
