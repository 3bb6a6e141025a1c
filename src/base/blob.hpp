#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace longshore {

/// Immutable bytes with shared ownership: weights, file contents. 64-byte alignment is not
/// promised: bytes may lie inside a mapped file.
class Blob {
 public:
  /// Owns the bytes.
  explicit Blob(std::vector<std::byte> bytes) noexcept;
  /// Looks at bytes that `owner` keeps alive (a mapped file, another blob).
  Blob(std::span<const std::byte> bytes, std::shared_ptr<const void> owner) noexcept;
  ~Blob();
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

SharedBlob make_blob(std::vector<std::byte> bytes);

/// Copies the bytes.
SharedBlob copy_blob(const void* data, std::size_t size);

}  // namespace longshore
