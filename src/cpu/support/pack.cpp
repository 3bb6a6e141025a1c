#include "cpu/pack.hpp"

#include <algorithm>

namespace longshore::cpu {

void PackCache::drop_unused() {
  const std::lock_guard lock(mutex_);
  std::vector<Entry> kept;
  for (const Entry& e : entries_) {
    const auto own =
        std::ranges::count_if(entries_, [&](const Entry& other) { return other.owner == e.owner; });
    const auto copied =
        std::ranges::count_if(kept, [&](const Entry& other) { return other.owner == e.owner; });
    if (e.owner.use_count() > own + copied) kept.push_back(e);
  }
  entries_ = std::move(kept);
}

std::size_t PackCache::packed_bytes() const {
  const std::lock_guard lock(mutex_);
  return packed_bytes_;
}

}  // namespace longshore::cpu
