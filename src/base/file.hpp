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

/// Writes a temporary file beside `path`, syncs it, then renames: the old file or the new one,
/// never half of one.
Status write_file(const std::string& path, std::span<const std::byte> bytes);

}  // namespace longshore
