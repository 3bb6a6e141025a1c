// Files are replaced whole or not at all, and what is no regular file stays what it is.
#include <gtest/gtest.h>

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

#include "base/file.hpp"

namespace {

/// Called instead of fsync: with the descriptor, gives an errno or 0 for the real one.
thread_local std::function<int(int)> instead_of_fsync;

}  // namespace

// NOLINTBEGIN: the names are the linker's
extern "C" {
int __real_fsync(int);
int __wrap_fsync(int fd) {
  const int failed = instead_of_fsync ? instead_of_fsync(fd) : 0;
  if (failed == 0) return __real_fsync(fd);
  errno = failed;
  return -1;
}
}
// NOLINTEND

namespace longshore {
namespace {

namespace fs = std::filesystem;

class WriteFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "longshore_XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const char* name) const { return (folder_ / name).string(); }
  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator{}));
  }
  static std::string text_of(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static Status write(const std::string& file, const std::string& text) {
    return write_file(file, std::as_bytes(std::span(text)));
  }
  static unsigned mode_of(const std::string& file) {
    struct stat info {};
    EXPECT_EQ(::stat(file.c_str(), &info), 0);
    return info.st_mode & 07777;
  }

  fs::path folder_;
};

TEST_F(WriteFile, MakesAndReplaces) {
  const std::string file = path("a");
  ASSERT_TRUE(write(file, "one").ok());
  EXPECT_EQ(text_of(file), "one");
  ASSERT_TRUE(write(file, "two").ok());
  EXPECT_EQ(text_of(file), "two");
  ASSERT_TRUE(write(file, "").ok());
  EXPECT_EQ(text_of(file), "");
  EXPECT_EQ(files(), 1u);
}

TEST_F(WriteFile, TheModeOfAnOldFileStays) {
  const std::string file = path("private");
  ASSERT_TRUE(write(file, "one").ok());
  EXPECT_EQ(mode_of(file) & 0111, 0u);
  ASSERT_EQ(::chmod(file.c_str(), 0600), 0);
  ASSERT_TRUE(write(file, "two").ok());
  EXPECT_EQ(mode_of(file), 0600u);
}

TEST_F(WriteFile, LinksAreFollowed) {
  const std::string file = path("real"), link = path("link"), second = path("second");
  ASSERT_TRUE(write(file, "one").ok());
  fs::create_symlink("real", link);
  fs::create_symlink("link", second);
  ASSERT_TRUE(write(second, "two").ok());
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_TRUE(fs::is_symlink(second));
  EXPECT_EQ(text_of(file), "two");
  fs::create_symlink("absent", path("dangling"));
  ASSERT_TRUE(write(path("dangling"), "three").ok());
  EXPECT_TRUE(fs::is_symlink(path("dangling")));
  EXPECT_EQ(text_of(path("absent")), "three");
  fs::create_symlink("round", path("round"));
  EXPECT_FALSE(write(path("round"), "four").ok());
}

TEST_F(WriteFile, APipeGetsTheBytesAndStays) {
  const std::string pipe = path("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::string got;
  std::thread reader([&] { got = text_of(pipe); });
  const Status status = write(pipe, "through the pipe");
  reader.join();
  EXPECT_TRUE(status.ok()) << status.text();
  EXPECT_EQ(got, "through the pipe");
  EXPECT_TRUE(fs::is_fifo(pipe));
  EXPECT_EQ(files(), 1u);
}

TEST_F(WriteFile, ADeviceStaysADevice) {
  EXPECT_TRUE(write("/dev/null", "nothing").ok());
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  const Status full = write("/dev/full", "something");
  EXPECT_EQ(full.code(), Code::io);
  EXPECT_NE(std::strstr(full.text(), "/dev/full"), nullptr) << full.text();
}

TEST_F(WriteFile, SaysWhyItCannot) {
  EXPECT_EQ(write("", "x").code(), Code::bad_argument);
  EXPECT_EQ(write(folder_.string(), "x").code(), Code::io);
  EXPECT_EQ(write(path("no/such/folder"), "x").code(), Code::io);
  EXPECT_EQ(files(), 0u);
}

TEST_F(WriteFile, ASizeLimitIsAnErrorThatLeavesNothing) {
  const std::string file = path("old");
  ASSERT_TRUE(write(file, "old").ok());
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{1000, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const Status status = write(file, std::string(100000, 'x'));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(status.code(), Code::io);
  EXPECT_NE(std::strstr(status.text(), "too large"), nullptr) << status.text();
  EXPECT_EQ(text_of(file), "old");
  EXPECT_EQ(files(), 1u);
}

// After a power cut the new name is there with all its bytes: these are synced before it is given,
// the folder that holds it after.
TEST_F(WriteFile, SyncsTheBytesAndThenTheFolder) {
  const std::string file = path("a");
  for (const char* text : {"one", "two"}) {
    std::string order;
    instead_of_fsync = [&](int fd) {
      struct stat synced {
      }, folder{};
      EXPECT_EQ(::fstat(fd, &synced), 0);
      EXPECT_EQ(::stat(folder_.c_str(), &folder), 0);
      const bool directory = S_ISDIR(synced.st_mode);
      EXPECT_EQ(synced.st_ino == folder.st_ino, directory);
      order += directory ? "folder " : "file ";
      EXPECT_EQ(text_of(file) == text, directory) << "the name was given too early or too late";
      return 0;
    };
    const Status status = write(file, text);
    instead_of_fsync = nullptr;
    EXPECT_TRUE(status.ok()) << status.text();
    EXPECT_EQ(order, "file folder ");
  }
}

TEST_F(WriteFile, AFailedSyncIsAnErrorUnlessTheFolderCannotBeSynced) {
  const std::string file = path("a");
  const auto with = [&](int failed, bool of_folder) {
    instead_of_fsync = [=](int fd) {
      struct stat info {};
      EXPECT_EQ(::fstat(fd, &info), 0);
      return S_ISDIR(info.st_mode) == of_folder ? failed : 0;
    };
    const Status status = write(file, "text");
    instead_of_fsync = nullptr;
    return status;
  };
  EXPECT_EQ(with(EIO, false).code(), Code::io);
  EXPECT_EQ(files(), 0u);
  EXPECT_TRUE(with(EINVAL, true).ok());  // as some file systems answer
  const Status status = with(EIO, true);
  EXPECT_EQ(status.code(), Code::io);
  EXPECT_NE(std::strstr(status.text(), "sync the folder of"), nullptr) << status.text();
}

TEST_F(WriteFile, TheMaskOfTheProcessIsNeverTouched) {
  // Another thread that makes files meanwhile must not get other modes.
  const mode_t before = ::umask(027);
  std::atomic<bool> done{false};
  unsigned wrong = 0;
  std::thread other([&] {
    for (unsigned i = 0; !done; i = (i + 1) % 8) {
      const std::string file = path(("other" + std::to_string(i)).c_str());
      ::unlink(file.c_str());
      std::ofstream(file) << "x";
      if (mode_of(file) != 0640) wrong++;
    }
  });
  for (int i = 0; i < 300; i++) EXPECT_TRUE(write(path("mine"), "x").ok());
  done = true;
  other.join();
  ::umask(before);
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(mode_of(path("mine")), 0640u);
}

}  // namespace
}  // namespace longshore
