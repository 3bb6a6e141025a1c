#include "base/file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>

#include "temporary_folder.hpp"

namespace longshore::tests::file_test {
namespace {

std::vector<std::byte> some_bytes(std::size_t n) {
  std::vector<std::byte> bytes(n);
  for (std::size_t i = 0; i < n; i++) bytes[i] = static_cast<std::byte>(i * 7 + i / 256);
  return bytes;
}

// A mapped file that somebody cuts ends the process by SIGBUS at the next look.
TEST(File, WhatWasReadStaysWhenTheFileIsCut) {
  TemporaryFolder folder;
  const std::string path = folder.path() / "weights";
  const std::vector<std::byte> bytes = some_bytes(100'000);
  ASSERT_TRUE(write_file(path, bytes).ok());
  const Result<SharedBlob> file = read_file(path);
  ASSERT_TRUE(file.ok()) << file.status().text();
  std::filesystem::resize_file(path, 0);
  EXPECT_TRUE(std::ranges::equal((*file)->bytes(), bytes));
}

TEST(File, CutWhileItIsRead) {
  TemporaryFolder folder;
  const std::string path = folder.path() / "weights";
  ASSERT_TRUE(write_file(path, some_bytes(5'000)).ok());
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(descriptor, 0);
  EXPECT_THAT(read_open_file(descriptor, 5'001, "weights").status().text(),
              testing::HasSubstr("was cut"));
  const Result<SharedBlob> whole = read_open_file(descriptor, 5'000, "weights");
  ::close(descriptor);
  ASSERT_TRUE(whole.ok());
  EXPECT_TRUE(std::ranges::equal((*whole)->bytes(), some_bytes(5'000)));
}

TEST(File, Refusals) {
  TemporaryFolder folder;
  EXPECT_THAT(read_file(folder.path()).status().text(), testing::HasSubstr("not a regular file"));
  EXPECT_THAT(read_file("/dev/zero").status().text(), testing::HasSubstr("not a regular file"));
  const std::string path = folder.path() / "bytes";
  ASSERT_TRUE(write_file(path, some_bytes(10)).ok());
  EXPECT_EQ(read_file(path, 9).status().code(), Code::exhausted);
  ASSERT_TRUE(write_file(path, {}).ok());
  const Result<SharedBlob> empty = read_file(path);
  ASSERT_TRUE(empty.ok());
  EXPECT_EQ((*empty)->size(), 0u);
}

}  // namespace
}  // namespace longshore::tests::file_test
