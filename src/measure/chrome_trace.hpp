#pragma once
#include <string>

#include "sim/schedule.hpp"

namespace longshore {

/// The timeline as JSON for chrome://tracing or Perfetto: one row per queue and one for the CPU, an
/// event per interval with its layer, instruction and operands.
std::string chrome_trace(const Program&, const Timing&);

}  // namespace longshore
