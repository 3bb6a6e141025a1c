#include "read/external_data.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "base/error.hpp"
#include "base/file.hpp"

namespace longshore {
namespace {

constexpr const char* way_out =
    "; copy the data file itself into the folder of the model, or save the model again with its "
    "weights inside";

/// Closes what it holds.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { reset(-1); }
  void reset(int fd) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

[[noreturn]] void refuse(const std::string& what, const std::string& location,
                         const std::string& why) {
  fail(Code::bad_model, what, ": external data '", location, "' is refused: ", why, way_out);
}

std::vector<std::string> components(const std::string& location, const std::string& what) {
  if (location.empty()) refuse(what, location, "the file is not named");
  if (location.size() > 4096 || location.find('\0') != std::string::npos)
    refuse(what, location.substr(0, 40), "the name is not a file name");
  if (location[0] == '/') refuse(what, location, "the path is absolute");
  if (location.find('\\') != std::string::npos) refuse(what, location, "the path has a backslash");
  std::vector<std::string> out;
  std::size_t begin = 0;
  while (begin <= location.size()) {
    const std::size_t end = std::min(location.find('/', begin), location.size());
    const std::string part = location.substr(begin, end - begin);
    if (part == "..") refuse(what, location, "the path has '..'");
    if (!part.empty() && part != ".") out.push_back(part);
    begin = end + 1;
  }
  if (out.empty()) refuse(what, location, "the file is not named");
  return out;
}

}  // namespace

SharedBlob ExternalData::open(const std::string& location, const std::string& what) const {
  const std::vector<std::string> parts = components(location, what);
  if (folder_.empty())
    fail(Code::bad_model, what, ": its data lies in the file '", location,
         "', but the model is not read from a folder");
  Descriptor folder(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() < 0)
    fail(Code::io, "cannot open the folder '", folder_, "': ", std::strerror(errno));
  const auto failed = [&](const std::string& part) {
    if (errno == ELOOP || errno == ENOTDIR)
      refuse(what, location, "'" + part + "' is a link or not a folder");
    fail(Code::io, what, ": cannot open external data '", location, "' in '", folder_,
         "': ", std::strerror(errno));
  };
  // Component by component, so that no link is followed anywhere on the way.
  for (std::size_t i = 0; i + 1 < parts.size(); i++) {
    const int next =
        ::openat(folder.get(), parts[i].c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (next < 0) failed(parts[i]);
    folder.reset(next);
  }
  const Descriptor file(::openat(folder.get(), parts.back().c_str(),
                                 O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (file.get() < 0) failed(parts.back());
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) failed(parts.back());
  if (!S_ISREG(info.st_mode)) refuse(what, location, "it is not a regular file");
  if (info.st_nlink > 1)
    refuse(what, location, "it is a hard link to a file that has other names too");
  const auto size = static_cast<std::size_t>(info.st_size);
  const Result<SharedBlob> bytes = read_open_file(file.get(), size, location.c_str());
  require(bytes.status(), what);
  return *bytes;
}

SharedBlob ExternalData::bytes(const std::string& location, std::uint64_t offset,
                               std::uint64_t size, const std::string& what) {
  auto it = files_.find(location);
  if (it == files_.end()) it = files_.emplace(location, open(location, what)).first;
  const SharedBlob& file = it->second;
  if (offset > file->size() || size > file->size() - offset)
    fail(Code::bad_model, what, ": its external data is bytes ", offset, " to ", offset, " + ",
         size, " of '", location, "', which has ", file->size());
  return std::make_shared<const Blob>(
      file->bytes().subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(size)),
      file);
}

}  // namespace longshore
