// Weights in the order that a kernel reads, shared by all that would make the same.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <string_view>
#include <vector>

#include "base/blob.hpp"

namespace longshore::cpu {

/// Packed bytes, 64-byte aligned.
using Pack = std::shared_ptr<const std::byte>;

/// Which order: the name of the kernel, and every number that the bytes depend on.
struct PackLayout {
  std::string_view kernel;  // a literal
  std::array<std::int64_t, 8> numbers{};
  bool operator==(const PackLayout&) const = default;
};

/// Zeros, then what fill(std::byte*) writes.
template <class F>
Pack make_pack(std::size_t bytes, F&& fill) {
  constexpr std::align_val_t line{64};
  const std::size_t size = (bytes + 127) / 64 * 64;  // whole lines, and never none
  std::shared_ptr<std::byte> pack(static_cast<std::byte*>(::operator new(size, line)),
                                  [](std::byte* p) { ::operator delete(p, line); });
  std::memset(pack.get(), 0, size);
  fill(pack.get());
  return pack;
}

/// The packs of one model: one for each constant and layout, whatever the number of programs and
/// threads. A pack lives as long as its constant does.
class PackCache {
 public:
  template <class F>
  Pack get(const void* constant, const SharedBlob& owner, const PackLayout& layout,
           std::size_t bytes, F&& fill) {
    const std::lock_guard lock(mutex_);  // held while packing: a second thread waits for the pack
    for (const Entry& e : entries_)
      if (e.constant == constant && e.bytes == bytes && e.layout == layout) return e.pack;
    Pack pack = make_pack(bytes, fill);
    entries_.push_back({constant, bytes, layout, owner, pack});
    packed_bytes_ += bytes;
    return pack;
  }

  /// Drops the packs of constants that nobody else holds any more.
  void drop_unused();

  /// Bytes packed so far, dropped ones included.
  std::size_t packed_bytes() const;

 private:
  struct Entry {
    const void* constant;
    std::size_t bytes;
    PackLayout layout;
    SharedBlob owner;
    Pack pack;
  };
  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
  std::size_t packed_bytes_ = 0;
};

}  // namespace longshore::cpu
