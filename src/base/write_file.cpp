#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "base/file.hpp"

namespace longshore {
namespace {

struct Descriptor {
  int fd;
  explicit Descriptor(int f) : fd(f) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

Status failure(const std::string& path, const char* what) {
  return Status::error(Code::io, "cannot %s '%.160s': %s", what, path.c_str(),
                       std::strerror(errno));
}

/// While it lives a write beyond the limit of a file's size fails like one to a full disk instead
/// of ending the process. The kernel sends that signal to the writing thread.
class NoSizeSignal {
 public:
  NoSizeSignal() {
    sigemptyset(&set_);
    sigaddset(&set_, SIGXFSZ);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGXFSZ) == 1;
    pthread_sigmask(SIG_BLOCK, &set_, &old_);
  }
  NoSizeSignal(const NoSizeSignal&) = delete;
  NoSizeSignal& operator=(const NoSizeSignal&) = delete;
  ~NoSizeSignal() {
    const int kept = errno;
    const timespec none{0, 0};
    if (!was_pending_) sigtimedwait(&set_, nullptr, &none);
    pthread_sigmask(SIG_SETMASK, &old_, nullptr);
    errno = kept;
  }

 private:
  sigset_t set_, old_;
  bool was_pending_;
};

bool write_all(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return true;
}

/// The name that a chain of symbolic links ends at, which need not be there.
std::string followed(std::string path) {
  for (int links = 0; links < 40; links++) {
    char target[PATH_MAX];
    const ssize_t n = ::readlink(path.c_str(), target, sizeof target);
    if (n < 0 || n == static_cast<ssize_t>(sizeof target)) return path;  // no link
    const std::string to(target, static_cast<std::size_t>(n));
    const std::size_t slash = path.rfind('/');
    path.resize(to.starts_with('/') || slash == std::string::npos ? 0 : slash + 1);
    path += to;
  }
  return path;
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

/// A name beside `path` that nobody else uses.
std::string name_beside(const std::string& path) {
  static std::atomic<unsigned> count{0};
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  char suffix[64];
  std::snprintf(suffix, sizeof suffix, ".%lx.%lx.%x.tmp", static_cast<unsigned long>(::getpid()),
                static_cast<unsigned long>(now.tv_nsec), count++);
  return path + suffix;
}

/// Into what is there and is no regular file.
Status write_into(const std::string& path, std::span<const std::byte> bytes) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
  if (file.fd < 0) return failure(path, "open");
  const NoSizeSignal quiet;
  return write_all(file.fd, bytes) ? Status{} : failure(path, "write");
}

/// The name of a file is on disk when its folder is. Some file systems cannot sync one.
Status sync_folder(const std::string& folder, const std::string& path) {
  const Descriptor parent(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (parent.fd >= 0 && ::fsync(parent.fd) != 0 && errno == EIO)
    return failure(path, "sync the folder of");
  return {};
}

/// `mode`: that of the file that is replaced, or -1: what the umask leaves.
Status replace(const std::string& path, std::span<const std::byte> bytes, int mode) {
  const std::string folder = folder_of(path);
  std::string temporary;  // the name that is to be taken away after a failure
  Descriptor file(::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666));
  char link[64];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", file.fd);
  const bool nameless = file.fd >= 0 && ::access(link, F_OK) == 0;
  if (!nameless) {
    if (file.fd >= 0) ::close(file.fd);
    temporary = name_beside(path);
    file.fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file.fd < 0) return failure(path, "create a file beside");
  }
  const auto give_up = [&](const char* what) {
    const Status status = failure(path, what);
    if (!temporary.empty()) ::unlink(temporary.c_str());
    return status;
  };
  {
    const NoSizeSignal quiet;
    if (!write_all(file.fd, bytes)) return give_up("write");
  }
  if (mode >= 0 && ::fchmod(file.fd, static_cast<mode_t>(mode)) != 0) return give_up("write");
  if (::fsync(file.fd) != 0) return give_up("write");
  if (nameless) {
    // Where there is no old file its name can be given at once.
    if (mode < 0 && ::linkat(AT_FDCWD, link, AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) == 0)
      return sync_folder(folder, path);
    const std::string name = name_beside(path);
    if (::linkat(AT_FDCWD, link, AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) != 0)
      return give_up("create a file beside");
    temporary = name;
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) return give_up("replace");
  return sync_folder(folder, path);
}

}  // namespace

Status write_file(const std::string& path, std::span<const std::byte> bytes) {
  if (path.empty()) return Status::error(Code::bad_argument, "the name of a file is empty");
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) {
    if (errno != ENOENT) return failure(path, "write");
    return replace(followed(path), bytes, -1);
  }
  if (S_ISDIR(info.st_mode)) {
    errno = EISDIR;
    return failure(path, "write");
  }
  if (!S_ISREG(info.st_mode)) return write_into(path, bytes);
  return replace(followed(path), bytes, static_cast<int>(info.st_mode & 07777));
}

}  // namespace longshore
