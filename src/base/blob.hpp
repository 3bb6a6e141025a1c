#pragma once
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace longshore {

/// Immutable bytes with shared ownership: weights, file contents. 64-byte alignment is not
/// promised: bytes may lie inside a mapped file.
class Blob {
 public:
  /// Owns the bytes.
  explicit Blob(std::vector<std::byte> bytes) : owned_(std::move(bytes)), view_(owned_) {}
  /// Looks at bytes that `owner` keeps alive (a mapped file, another blob).
  Blob(std::span<const std::byte> bytes, std::shared_ptr<const void> owner)
      : view_(bytes), owner_(std::move(owner)) {}
  Blob(const Blob&) = delete;
  Blob& operator=(const Blob&) = delete;

  std::span<const std::byte> bytes() const noexcept { return view_; }
  std::size_t size() const noexcept { return view_.size(); }

 private:
  std::vector<std::byte> owned_;
  std::span<const std::byte> view_;
  std::shared_ptr<const void> owner_;
};

using SharedBlob = std::shared_ptr<const Blob>;

inline SharedBlob make_blob(std::vector<std::byte> bytes) {
  return std::make_shared<const Blob>(std::move(bytes));
}

/// Copies the bytes.
inline SharedBlob copy_blob(const void* data, std::size_t size) {
  std::vector<std::byte> bytes(size);
  if (size > 0) std::memcpy(bytes.data(), data, size);
  return make_blob(std::move(bytes));
}

}  // namespace longshore
