// What `build` says: placement, prices, time, memory.
#pragma once
#include <iosfwd>
#include <string>

#include <nlohmann/json.hpp>

#include "plan/plan.hpp"
#include "sim/schedule.hpp"

namespace longshore {

struct BuildReport {
  std::string file;  // the bundle
  plan::Plan plan;   // for a target without NPU only its placement
  Timing timing;     // of the simulator; empty without NPU
  std::uint64_t arena_bytes = 0;
  bool random_calibration = false;

  double latency_ms() const;
  double node_ms(std::size_t node) const;
};

/// npu_mac_share, macs, latency_ms, nodes [{name, op, unit, macs, latency_ms, reasons}], and more.
nlohmann::json to_json(const BuildReport&);
void show(std::ostream&, const BuildReport&);

}  // namespace longshore
