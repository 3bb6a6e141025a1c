#pragma once
#include <cstddef>
#include <string>

#include "sim/schedule.hpp"

namespace longshore {

struct SvgOptions {
  double narrowest_px = 0.3;         // bars below that are drawn together
  std::size_t most_bytes = 2000000;  // bars are drawn together until the file is below that
};

/// The timeline as a picture for a browser: a row for each engine that works, a bar for each
/// interval in its layer's colour with a tooltip, a time axis, and the live bytes of the arena
/// below. The same intervals as those of chrome_trace.
std::string svg_timeline(const Program&, const Timing&, const std::string& title,
                         const SvgOptions& = {});

}  // namespace longshore
