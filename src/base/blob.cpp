#include "base/blob.hpp"

#include <cstring>
#include <utility>

namespace longshore {

Blob::Blob(std::vector<std::byte> bytes) noexcept : owned_(std::move(bytes)), view_(owned_) {}
Blob::Blob(std::span<const std::byte> bytes, std::shared_ptr<const void> owner) noexcept
    : view_(bytes), owner_(std::move(owner)) {}
Blob::~Blob() = default;

SharedBlob make_blob(std::vector<std::byte> bytes) {
  return std::make_shared<const Blob>(std::move(bytes));
}

SharedBlob copy_blob(const void* data, std::size_t size) {
  std::vector<std::byte> bytes(size);
  if (size > 0) std::memcpy(bytes.data(), data, size);
  return make_blob(std::move(bytes));
}

}  // namespace longshore
