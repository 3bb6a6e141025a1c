// Real model files, cut and with flipped bits: an error or a model, never a signal, never "a bug".
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "base/error.hpp"
#include "base/file.hpp"
#include "ir/op.hpp"
#include "random.hpp"
#include "read/read.hpp"

namespace longshore::tests {
namespace {

namespace fs = std::filesystem;

/// The named thing in this project, or beside it; empty where it is not. (__FILE__ may be relative.)
fs::path find(const char* name) {
  for (fs::path at = fs::read_symlink("/proc/self/exe"); at.has_relative_path(); at = at.parent_path())
    if (fs::exists(at / name)) return at / name;
  return {};
}

std::vector<std::byte> bytes_of(const fs::path& file) {
  const Result<SharedBlob> blob = map_file(file);
  require(blob.status());
  return {(*blob)->bytes().begin(), (*blob)->bytes().end()};
}

void attempt(std::span<const std::byte> bytes, const std::string& what) {
  try {
    const ReadResult r = read_onnx(bytes, "damaged.onnx", "");
    verify(r.graph);
  } catch (const Error& e) {
    EXPECT_NE(e.code(), Code::internal) << what << ": " << e.what();
  }
}

/// All cuts and bits of small files where there is time, otherwise `rounds` random ones.
void damage(const fs::path& file, std::size_t rounds) {
  const std::vector<std::byte> whole = bytes_of(file);
  const bool all = std::getenv("LONGSHORE_FULL") && whole.size() < 4096;
  std::mt19937 rng(seed());
  for (std::size_t i = 0; i < (all ? whole.size() : rounds); i++) {
    const std::size_t cut = all ? i : rng() % whole.size();
    attempt(std::span(whole).first(cut), file.string() + " cut at " + std::to_string(cut));
  }
  for (std::size_t i = 0; i < (all ? whole.size() * 8 : rounds); i++) {
    const std::size_t bit = all ? i : rng() % (whole.size() * 8);
    std::vector<std::byte> flipped = whole;
    flipped[bit / 8] ^= std::byte{1} << (bit % 8);
    attempt(flipped, file.string() + " with bit " + std::to_string(bit) + " flipped");
  }
}

TEST(DamagedModels, FromTheZoo) {
  const fs::path zoo = find("zoo");
  int files = 0;
  for (const auto& entry : fs::directory_iterator(zoo))
    if (entry.path().extension() == ".onnx") damage(entry.path(), 15), files++;
  EXPECT_GT(files, 0);
}

TEST(DamagedModels, FromBugReports) {
  const fs::path cases = find("shared/cases/onnx");
  if (cases.empty()) GTEST_SKIP() << "shared/cases/onnx is not beside this checkout";
  for (const auto& entry : fs::directory_iterator(cases)) damage(entry.path() / "model.onnx", 60);
}

}  // namespace
}  // namespace longshore::tests
