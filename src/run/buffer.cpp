#include "run/buffer.hpp"

#include <algorithm>
#include <cstring>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace longshore {
namespace {

constexpr std::uint64_t huge_page = std::uint64_t{1} << 21;

/// Large buffers lie on huge pages where the system has them: a new input shape pays a page fault
/// for each page of its arena (bench/shapes).
std::byte* allocate(std::uint64_t bytes) noexcept {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  if (bytes >= 2 * huge_page) {
    void* data = std::aligned_alloc(huge_page, (bytes + huge_page - 1) / huge_page * huge_page);
    if (data) madvise(data, bytes / huge_page * huge_page, MADV_HUGEPAGE);  // a wish: may fail
    return static_cast<std::byte*>(data);
  }
#endif
  return static_cast<std::byte*>(std::aligned_alloc(64, bytes));
}

}  // namespace

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
  std::byte* fresh = allocate(wanted);
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
