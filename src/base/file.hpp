#pragma once
#include <cstddef>
#include <span>
#include <string>

#include "base/blob.hpp"
#include "base/status.hpp"

namespace longshore {

/// The whole file in memory of its own: what happens to the file afterwards changes nothing (a
/// mapped one that is cut ends the process by SIGBUS). Refuses devices, folders and what is over
/// `limit_bytes`.
Result<SharedBlob> read_file(const std::string& path,
                             std::size_t limit_bytes = std::size_t{1} << 36) noexcept;

/// The first `size` bytes of an open file; an error if it has fewer. `name` is for the message.
Result<SharedBlob> read_open_file(int descriptor, std::size_t size, const char* name) noexcept;

/// The old file or the new one, never half of one, and on disk when this returns: the bytes go to a
/// file beside it that has no name where the file system can do that (so nothing stays behind
/// whatever ends the process), and take its place when they are complete. Links are followed, the
/// mode of an old file stays. What is no regular file (a device, a pipe) gets the bytes as they
/// come.
Status write_file(const std::string& path, std::span<const std::byte> bytes);

}  // namespace longshore
