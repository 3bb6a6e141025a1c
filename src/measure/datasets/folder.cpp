#include <algorithm>
#include <filesystem>
#include <memory>

#include "base/error.hpp"
#include "measure/dataset.hpp"

namespace longshore::datasets {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t most_files = 10'000'000;

bool is_folder(const std::string& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

std::vector<fs::path> sorted(const fs::path& folder, bool folders) {
  std::vector<fs::path> out;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().filename().string().starts_with(".")) continue;
    if (folders ? it->is_directory() : it->is_regular_file()) out.push_back(it->path());
    if (out.size() > most_files)
      fail(Code::exhausted, folder.string(), ": more than ", most_files, " entries");
  }
  if (error) fail(Code::io, folder.string(), ": ", error.message());
  std::ranges::sort(out);
  return out;
}

struct File {
  std::string path;
  int label;
};

bool is_number(const fs::path& p) {
  const std::string s = p.filename().string();
  return s.size() <= 6 && std::ranges::all_of(s, [](unsigned char c) { return std::isdigit(c); });
}

/// The one line that is this name.
int line_of(const std::string& name, const std::vector<std::string>& labels,
            const std::string& folder) {
  const auto line = std::ranges::find(labels, name);
  if (line == labels.end())
    fail(Code::bad_argument, folder, ": no line of the ", labels.size(), " in --labels is '", name,
         "'");
  if (const auto again = std::find(line + 1, labels.end(), name); again != labels.end())
    fail(Code::bad_argument, folder, ": lines ", line - labels.begin() + 1, " and ",
         again - labels.begin() + 1, " in --labels are both '", name,
         "'; a folder named by a number is clear");
  return static_cast<int>(line - labels.begin());
}

/// The class of each subfolder: its number, the line of its name in `labels`, or, where all that is
/// known are names, its place in their order.
void name_classes(const std::vector<fs::path>& folders, const std::vector<std::string>& labels,
                  Dataset& out) {
  if (std::ranges::all_of(folders, is_number)) return;
  for (const fs::path& p : folders) {
    const std::string name = p.filename().string();
    const int next = static_cast<int>(out.named_classes.size());
    out.named_classes[name] = labels.empty() ? next : line_of(name, labels, p.string());
  }
  out.scores = labels.empty() ? folders.size() : labels.size();
}

Dataset open(const DatasetRequest& request) {
  const std::vector<fs::path> folders = sorted(request.path, true);
  auto files = std::make_shared<std::vector<File>>();
  Dataset out;
  out.name = request.path;
  name_classes(folders, request.labels, out);
  for (const fs::path& folder : folders) {
    const std::string name = folder.filename().string();
    const int label = out.named_classes.empty() ? std::stoi(name) : out.named_classes.at(name);
    out.classes = std::max(out.classes, label + 1);
    for (const fs::path& p : sorted(folder, false)) files->push_back({p.string(), label});
  }
  if (folders.empty())
    for (const fs::path& p : sorted(request.path, false)) files->push_back({p.string(), 0});
  if (files->empty())
    fail(Code::bad_argument, request.path,
         ": expected subfolders, one for each class, with pictures in them, or pictures");
  if (!request.read_file) fail(Code::internal, "a folder of pictures needs a reader for them");
  out.count = files->size();
  out.input = [files, read = request.read_file](std::size_t i, const TensorType& input) {
    return read((*files)[i].path, input);
  };
  if (!folders.empty()) out.label = [files](std::size_t i) { return (*files)[i].label; };
  out.sample_name = [files](std::size_t i) { return (*files)[i].path; };
  return out;
}

}  // namespace

extern constinit const DatasetFormat dataset_folder = {
    .name = "folder",
    .doc =
        "A folder of folders of pictures, one for each class: class/picture. Of pictures alone: "
        "without labels.",
    .recognises = is_folder,
    .open = open,
};

}  // namespace longshore::datasets
