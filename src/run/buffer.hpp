#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "base/status.hpp"

namespace longshore {

/// How many bytes the buffers of one context may take together.
struct MemoryBudget {
  std::uint64_t limit = std::uint64_t{1} << 36;
  std::uint64_t used = 0;
};

/// Bytes that may grow, 64-byte aligned; what was written stays. Never shrinks, never throws, has
/// an address even when empty after reserve().
class Buffer {
 public:
  Status reserve(std::uint64_t bytes, MemoryBudget&) noexcept;
  /// The same, no byte more than needed; what was written is lost where it has to grow.
  Status renew(std::uint64_t bytes, MemoryBudget&) noexcept;
  std::byte* data() const noexcept { return data_.get(); }
  std::uint64_t capacity() const noexcept { return capacity_; }

 private:
  struct Free {
    void operator()(std::byte* p) const noexcept { std::free(p); }  // NOLINT: of aligned_alloc
  };
  std::unique_ptr<std::byte, Free> data_;
  std::uint64_t capacity_ = 0;
};

}  // namespace longshore
