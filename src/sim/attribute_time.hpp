#pragma once
#include "sim/schedule.hpp"

namespace longshore {

/// Fills Timing::time and each layer's from the sorted intervals: every moment is charged to one
/// running interval, by the order of Activity, then by queue (MAC before vector before DMA).
void attribute_time(Timing&, std::size_t engines);

}  // namespace longshore
