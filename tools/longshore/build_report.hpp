// What `build` says: placement, prices, time, memory.
#pragma once
#include <iosfwd>
#include <string>

#include "compile/compile.hpp"
#include "json.hpp"

namespace longshore {

/// Of the target, as predicted.
double latency_ms(const compile::Compiled&);

/// "  time    compute 0.306 ms, dma ...": what each activity takes of the whole.
std::string split_line(const TimeSplit&);

/// npu_mac_share, macs, latency_ms, nodes [{name, op, unit, macs, latency_ms, reasons}], and more.
Json to_json(const compile::Compiled&);
/// `file`: the bundle that was written, or nothing. At most 80 columns.
void show(std::ostream&, const compile::Compiled&, const std::string& file);

}  // namespace longshore
