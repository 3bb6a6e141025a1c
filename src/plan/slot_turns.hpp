#pragma once
#include <algorithm>
#include <optional>
#include <vector>

#include "plan/plan.hpp"

namespace longshore::plan {

/// Slots with what they hold now, so that what is still there is not loaded again.
class SlotTurns {
 public:
  explicit SlotTurns(const Slots& slots)
      : slots_(&slots), held_(slots.addresses.size()), used_(slots.addresses.size()) {}

  TileTask::Place take(const Box& key) {
    time_++;
    for (std::size_t i = 0; i < held_.size(); i++) {
      if (held_[i] != key) continue;
      used_[i] = time_;
      return {slots_->addresses[i], true};
    }
    const std::size_t i = oldest();
    held_[i] = key;
    return {slots_->addresses[i], false};
  }
  /// The next slot, whatever it held.
  std::uint32_t next() {
    time_++;
    const std::size_t i = oldest();
    held_[i].reset();
    return slots_->addresses[i];
  }

 private:
  std::size_t oldest() {
    const auto i = static_cast<std::size_t>(std::ranges::min_element(used_) - used_.begin());
    used_[i] = time_;
    return i;
  }

  const Slots* slots_;
  std::vector<std::optional<Box>> held_;
  std::vector<std::uint64_t> used_;
  std::uint64_t time_ = 0;
};

}  // namespace longshore::plan
