#include "run/buffer.hpp"

#include <algorithm>
#include <cstring>

namespace longshore {

Status Buffer::reserve(std::uint64_t bytes, MemoryBudget& budget) noexcept {
  if (data_ && bytes <= capacity_) return {};
  // Growth by half keeps a Loop's collected outputs linear in time.
  std::uint64_t wanted = bytes;
  if (data_) wanted = std::max(bytes, capacity_ + capacity_ / 2);
  if (bytes <= budget.limit) wanted = std::min(wanted, budget.limit);
  wanted = (std::max<std::uint64_t>(wanted, 64) + 63) / 64 * 64;
  if (bytes > budget.limit ||
      budget.used - capacity_ > budget.limit - std::min(budget.limit, wanted))
    return Status::error(
        Code::exhausted, "%llu bytes are over the limit of %llu bytes for one context",
        static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(budget.limit));
  auto* fresh = static_cast<std::byte*>(std::aligned_alloc(64, wanted));
  if (!fresh)
    return Status::error(Code::exhausted, "no memory for %llu bytes",
                         static_cast<unsigned long long>(wanted));
  if (data_) std::memcpy(fresh, data_.get(), capacity_);
  data_.reset(fresh);
  budget.used += wanted - capacity_;
  capacity_ = wanted;
  return {};
}

Status Buffer::renew(std::uint64_t bytes, MemoryBudget& budget) noexcept {
  if (data_ && bytes <= capacity_) return {};
  data_.reset();  // before the new memory is taken: both at once would be the peak
  budget.used -= capacity_;
  capacity_ = 0;
  return reserve(bytes, budget);
}

}  // namespace longshore
