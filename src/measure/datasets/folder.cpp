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

/// Classes are the subfolders: numbers name their class themselves, other names count in order.
Dataset open(const DatasetRequest& request) {
  struct File {
    std::string path;
    int label;
  };
  auto files = std::make_shared<std::vector<File>>();
  const std::vector<fs::path> classes = sorted(request.path, true);
  int most = -1;
  const bool numbered = std::ranges::all_of(classes, [](const fs::path& p) {
    const std::string s = p.filename().string();
    return s.size() <= 6 && std::ranges::all_of(s, [](unsigned char c) { return std::isdigit(c); });
  });
  for (std::size_t c = 0; c < classes.size(); c++) {
    const int label = numbered ? std::stoi(classes[c].filename().string()) : static_cast<int>(c);
    most = std::max(most, label);
    for (const fs::path& p : sorted(classes[c], false)) files->push_back({p.string(), label});
  }
  if (files->empty())
    fail(Code::bad_argument, request.path,
         ": expected subfolders, one for each class, with pictures in them");
  if (!request.read_file) fail(Code::internal, "a folder of pictures needs a reader for them");
  Dataset out;
  out.name = request.path;
  out.count = files->size();
  out.classes = most + 1;
  out.input = [files, read = request.read_file](std::size_t i, const TensorType& input) {
    return read((*files)[i].path, input);
  };
  out.label = [files](std::size_t i) { return (*files)[i].label; };
  out.sample_name = [files](std::size_t i) { return (*files)[i].path; };
  return out;
}

}  // namespace

extern constinit const DatasetFormat dataset_folder = {
    .name = "folder",
    .doc = "A folder of folders of pictures, one for each class: class/picture.",
    .recognises = is_folder,
    .open = open,
};

}  // namespace longshore::datasets
