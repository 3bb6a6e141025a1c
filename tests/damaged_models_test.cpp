// Real model files, cut and with flipped bits, read and run: an error or an answer, never a signal,
// never "a bug".
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/sanitizer.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "checkout.hpp"
#include "ir/op.hpp"
#include "random.hpp"
#include "read/read.hpp"

namespace longshore::tests::damaged_models_test {
namespace {

namespace fs = std::filesystem;

/// One way to spoil a file: cut at `at`, or flip bit `at`.
struct Damage {
  bool cut;
  std::size_t at;
};

/// True unless the error calls itself a bug.
bool attempt(std::span<const std::byte> whole, const Damage& damage) {
  std::vector<std::byte> bytes(whole.begin(), whole.end());
  if (damage.cut)
    bytes.resize(damage.at);
  else
    bytes[damage.at / 8] ^= std::byte{1} << (damage.at % 8);
  try {
    const ReadResult r = read_onnx(bytes, "damaged.onnx", "");
    verify(r.graph);
    for (ValueId v : r.graph.inputs) {
      if (!r.graph[v].type.ranked) return true;
      Shape shape;
      for (const Dim& d : r.graph[v].type.dims) shape.push(d.known() ? d.value : 2);
      const std::int64_t n = checked_elements(shape, 1 << 20);
      if (n < 0) return true;  // nobody would make such an input
    }
    evaluate(r.graph, random_inputs(r.graph, 1));
  } catch (const Error& e) {
    if (e.code() == Code::internal) std::fprintf(stderr, "%s\n", e.what());
    return e.code() != Code::internal;
  }
  return true;
}

/// Tells the parent which attempt begins, and of each that ended in a bug.
struct Progress {
  std::uint32_t index;
  std::uint32_t is_bug;
};

[[noreturn]] void child(std::span<const std::byte> whole, const std::vector<Damage>& list,
                        std::size_t from, int pipe) {
  const rlimit no_core{0, 0}, memory{std::uint64_t{2} << 30, std::uint64_t{2} << 30};
  ::setrlimit(RLIMIT_CORE, &no_core);
  if (!address_sanitizer) ::setrlimit(RLIMIT_AS, &memory);
  for (std::size_t i = from; i < list.size(); i++) {
    Progress p{static_cast<std::uint32_t>(i), 0};
    if (::write(pipe, &p, sizeof p) < 0) ::_exit(1);
    p.is_bug = 1;
    if (!attempt(whole, list[i]) && ::write(pipe, &p, sizeof p) < 0) ::_exit(1);
  }
  ::_exit(0);
}

/// Runs all attempts in child processes; one that takes 3 s (a pad or a loop that became huge) is
/// left out.
void survive(const fs::path& file, const std::vector<Damage>& list) {
  const Result<SharedBlob> blob = read_file(file);
  ASSERT_TRUE(blob.ok());
  const auto describe = [&](std::size_t i) {
    return file.parent_path().filename().string() +
           (list[i].cut ? ", cut at byte " : ", flipped bit ") + std::to_string(list[i].at);
  };
  int slow = 0;
  for (std::size_t next = 0; next < list.size();) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t pid = ::fork();
    if (pid == 0) child((*blob)->bytes(), list, next, ends[1]);
    ::close(ends[1]);
    Progress p{static_cast<std::uint32_t>(next), 0};
    bool late = false;
    for (;;) {
      pollfd wait{ends[0], POLLIN, 0};
      late = ::poll(&wait, 1, 3000) == 0;
      if (late || ::read(ends[0], &p, sizeof p) != sizeof p) break;
      if (p.is_bug) ADD_FAILURE() << describe(p.index) << ": an error that calls itself a bug";
    }
    if (late) ::kill(pid, SIGKILL);
    int status = 0;
    ::waitpid(pid, &status, 0);
    ::close(ends[0]);
    if (!late && WIFEXITED(status) && WEXITSTATUS(status) == 0) break;
    if (late)
      slow++;
    else
      ADD_FAILURE() << describe(p.index) << ": "
                    << (WIFSIGNALED(status) ? ::strsignal(WTERMSIG(status)) : "ended early");
    next = p.index + 1;
  }
  EXPECT_LE(slow, 2 + static_cast<int>(list.size() / 50)) << file;
}

/// `rounds` random cuts and bits; ten times as many where there is time.
std::vector<Damage> damages(const fs::path& file, std::size_t rounds) {
  const auto size = static_cast<std::size_t>(fs::file_size(file));
  std::mt19937 rng(seed());
  std::vector<Damage> out;
  for (std::size_t i = 0; i < rounds * (std::getenv("LONGSHORE_FULL") ? 10 : 1); i++) {
    out.push_back({true, rng() % size});
    out.push_back({false, rng() % (size * 8)});
  }
  return out;
}

TEST(DamagedModels, FromTheZoo) {
  int files = 0;
  for (const auto& entry : fs::directory_iterator(in_checkout("zoo")))
    if (entry.path().extension() == ".onnx")
      survive(entry.path(), damages(entry.path(), 4)), files++;
  EXPECT_GT(files, 0);
}

TEST(DamagedModels, FromBugReports) {
  const fs::path cases = in_checkout("shared/cases/onnx");
  if (cases.empty()) GTEST_SKIP() << "shared/cases/onnx is not beside this checkout";
  for (const auto& entry : fs::directory_iterator(cases)) {
    const fs::path file = entry.path() / "model.onnx";
    survive(file, damages(file, 40));
  }
}

}  // namespace
}  // namespace longshore::tests::damaged_models_test
