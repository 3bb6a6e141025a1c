#pragma once
#include <cstdint>
#include <vector>

#include "sim/costs.hpp"

namespace longshore {

/// The DRAM, or the constants' own memory, as a fluid: the transfers under way share its bandwidth
/// so that the smallest share is as great as possible, and none gets more than its channel can
/// move. Rates change only when a transfer starts or stops.
class DramServer {
 public:
  explicit DramServer(double gb_per_s) : capacity_(gb_per_s) {}  // 1 GB/s = 1 byte/ns

  void start(std::uint32_t id, double now_ns, const DmaCost&);
  void stop(std::uint32_t id, double now_ns);
  /// When that transfer ends if no other starts or stops.
  double finish_ns(std::uint32_t id) const noexcept;
  /// Bytes per ns that it moves now.
  double rate(std::uint32_t id) const noexcept;

 private:
  struct Transfer {
    std::uint32_t id;
    double bytes, most, share;  // left; most bytes per ns; DRAM peak bytes spent per byte
    double rate;
  };
  void elapse(double now_ns);
  void divide();

  double capacity_;
  double time_ns_ = 0;
  std::vector<Transfer> transfers_;  // few: one per DMA queue
};

}  // namespace longshore
