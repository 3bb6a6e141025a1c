#include "base/file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/guard.hpp"

namespace longshore {
namespace {

/// Closes what it holds.
struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

struct Memory {
  void* data;
  std::size_t size;
  Memory(void* d, std::size_t s) : data(d), size(s) {}
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() { ::munmap(data, size); }
};

Status failure(const char* path, const char* what) {
  return Status::error(Code::io, "cannot %s '%.160s': %s", what, path, std::strerror(errno));
}

}  // namespace

Result<SharedBlob> read_open_file(int descriptor, std::size_t size, const char* name) noexcept {
  return guarded([&]() -> Result<SharedBlob> {
    if (size == 0) return make_blob({});
    void* data = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED)
      return Status::error(Code::exhausted, "no memory for the %zu bytes of '%.160s'", size, name);
    auto memory = std::make_unique<Memory>(data, size);
    for (std::size_t at = 0; at < size;) {
      const ssize_t n =
          ::pread(descriptor, static_cast<char*>(data) + at, size - at, static_cast<off_t>(at));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return failure(name, "read");
      if (n == 0)
        return Status::error(Code::io, "'%.160s' was cut while it was read: %zu of %zu bytes", name,
                             at, size);
      at += static_cast<std::size_t>(n);
    }
    std::shared_ptr<const Memory> owner = std::move(memory);
    return std::make_shared<const Blob>(
        std::span<const std::byte>(static_cast<const std::byte*>(data), size), owner);
  });
}

Result<SharedBlob> read_file(const std::string& path, std::size_t limit_bytes) noexcept {
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.fd < 0) return failure(path.c_str(), "open");
  struct stat info {};
  if (::fstat(file.fd, &info) != 0) return failure(path.c_str(), "read");
  if (!S_ISREG(info.st_mode))
    return Status::error(Code::io, "'%.200s' is not a regular file", path.c_str());
  const auto size = static_cast<std::size_t>(info.st_size);
  if (size > limit_bytes)
    return Status::error(Code::exhausted, "'%.140s' has %zu bytes, the limit is %zu", path.c_str(),
                         size, limit_bytes);
  return read_open_file(file.fd, size, path.c_str());
}

}  // namespace longshore
