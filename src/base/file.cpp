#include "base/file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace longshore {
namespace {

/// Closes what it holds.
struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

struct Mapping {
  void* data;
  std::size_t size;
  Mapping(void* d, std::size_t s) : data(d), size(s) {}
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() { ::munmap(data, size); }
};

Status failure(const std::string& path, const char* what) {
  return Status::error(Code::io, "cannot %s '%.160s': %s", what, path.c_str(),
                       std::strerror(errno));
}

}  // namespace

Result<SharedBlob> map_file(const std::string& path, std::size_t limit_bytes) {
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.fd < 0) return failure(path, "open");
  struct stat info {};
  if (::fstat(file.fd, &info) != 0) return failure(path, "read");
  if (!S_ISREG(info.st_mode))
    return Status::error(Code::io, "'%.200s' is not a regular file", path.c_str());
  const auto size = static_cast<std::size_t>(info.st_size);
  if (size > limit_bytes)
    return Status::error(Code::exhausted, "'%.140s' has %zu bytes, the limit is %zu", path.c_str(),
                         size, limit_bytes);
  if (size == 0) return make_blob({});
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.fd, 0);
  if (data == MAP_FAILED) return failure(path, "map");
  auto mapping = std::make_shared<const Mapping>(data, size);
  return std::make_shared<const Blob>(
      std::span<const std::byte>(static_cast<const std::byte*>(data), size), mapping);
}

}  // namespace longshore
