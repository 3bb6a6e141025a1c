#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace longshore {

/// What a file surely is by its first bytes, of the kinds that are often given by mistake.
struct FileKind {
  std::string_view name;  // "a WebP picture"
  enum class Sort : unsigned char { picture, sound, array, model, other } sort = Sort::other;
};
std::optional<FileKind> file_kind(std::span<const std::byte>);

}  // namespace longshore
