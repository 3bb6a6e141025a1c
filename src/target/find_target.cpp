#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/error.hpp"
#include "base/file.hpp"
#include "target/target.hpp"

namespace longshore {
namespace {

namespace fs = std::filesystem;

/// $LONGSHORE_TARGETS (several, with ':'), then the folders of an installed and of a built tree.
std::vector<fs::path> folders() {
  std::vector<fs::path> out;
  if (const char* list = std::getenv("LONGSHORE_TARGETS")) {
    const std::string text = list;
    for (std::size_t at = 0; at <= text.size();) {
      const std::size_t end = std::min(text.find(':', at), text.size());
      if (end > at) out.emplace_back(text.substr(at, end - at));
      at = end + 1;
    }
  }
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (!error) {
    const fs::path folder = program.parent_path();
    out.push_back((folder / "../share/longshore/targets").lexically_normal());
    out.push_back((folder / "../../targets").lexically_normal());
  }
  return out;
}

constexpr std::string_view cpu_only = R"(
name = "cpu"
doc = "Runs everything on the CPU."
[cpu]
name = "a generic x86-64 or AArch64 core"
cores = 1
ghz = 2.0
macs_per_cycle = { f32 = 16, i8 = 64 }
efficiency = 0.6
bandwidth_gbs = 10
step_us = 1
ns_per_element = { default = 1.0 }
)";

}  // namespace

std::vector<TargetName> target_names() {
  std::vector<TargetName> out = {{"cpu", ""}};
  for (const fs::path& folder : folders()) {
    std::error_code error;
    std::vector<TargetName> here;
    for (const auto& entry : fs::directory_iterator(folder, error))
      if (entry.path().extension() == ".toml")
        here.push_back({entry.path().stem().string(), entry.path().string()});
    std::ranges::sort(here, {}, &TargetName::name);
    for (TargetName& t : here)
      if (std::ranges::find(out, t.name, &TargetName::name) == out.end())
        out.push_back(std::move(t));
  }
  return out;
}

Target load_target(std::string_view wanted, std::span<const std::string> changes) {
  if (wanted == "cpu") return parse_target(cpu_only, "cpu (built in)", changes);
  std::string file(wanted);
  const bool path = wanted.find('/') != std::string_view::npos || wanted.ends_with(".toml");
  if (!path) {
    std::string known;
    file.clear();
    for (const TargetName& t : target_names()) {
      if (t.name == wanted) file = t.file;
      known += (known.empty() ? "" : ", ") + t.name;
    }
    if (file.empty())
      fail(Code::bad_argument, "there is no target '", wanted, "'; there are: ", known,
           "; a path to a .toml file works too");
  }
  const Result<SharedBlob> blob = read_file(file, std::size_t{1} << 20);
  if (!blob.ok()) fail(blob.status().code(), "target ", file, ": ", blob.status().text());
  const std::span<const std::byte> bytes = (*blob)->bytes();
  return parse_target({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, file, changes);
}

}  // namespace longshore
