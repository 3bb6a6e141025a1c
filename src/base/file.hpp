#pragma once
#include <cstddef>
#include <span>
#include <string>

#include "base/blob.hpp"
#include "base/status.hpp"

namespace longshore {

/// The whole file, mapped read-only. Refuses devices, folders and what is over `limit_bytes`.
Result<SharedBlob> map_file(const std::string& path,
                            std::size_t limit_bytes = std::size_t{1} << 36);

/// Writes a temporary file beside `path`, syncs it, then renames: the old file or the new one,
/// never half of one.
Status write_file(const std::string& path, std::span<const std::byte> bytes);

}  // namespace longshore
