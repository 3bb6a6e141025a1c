// What `build` says: placement, prices, time, memory.
#pragma once
#include <iosfwd>
#include <map>
#include <string>

#include "compile/compile.hpp"
#include "json.hpp"

namespace longshore {

/// Of the target, as predicted.
double latency_ms(const compile::Compiled&);

/// How far predictions for this target were off: "off by 3 % in the median, ...".
std::string text_of(const PredictionError&);
/// Null where the target does not say.
Json error_json(const std::optional<PredictionError>&);

/// "  time    compute 0.306 ms, dma ...": what each activity takes of the whole.
std::string split_line(const TimeSplit&);

/// npu_mac_share, macs, latency_ms, nodes [{name, op, unit, macs, latency_ms, reasons}], and more.
Json to_json(const compile::Compiled&);
/// The table of `--layers`: a row for every node, each fallback with all its reasons and prices.
void show_layers(std::ostream&, const compile::Compiled&);
/// The last lines: latency, time by activity, memory. `file`: the bundle that was written, or
/// nothing.
void show_totals(std::ostream&, const compile::Compiled&, const std::string& file);

/// The nodes' multiply-accumulates over what the arrays could do in its own time, 0 to 1 (above it
/// with Winograd); 0 for what has none.
double mac_utilisation(const compile::Compiled&, std::size_t node);
/// Two operations for each multiply-accumulate: what the machine can do, and what the whole does.
double peak_tops(const compile::Compiled&);
double reached_tops(const compile::Compiled&);
/// Transfers that nothing hides, the care for the cache, and nodes that only copy.
double movement_ms(const compile::Compiled&);

/// All of it as Markdown; `model` is its heading.
std::string markdown_report(const compile::Compiled&, const std::string& model);

/// It runs on the CPU, and its dims are known at run time only.
bool unpriced(const NodePlacement&);
/// The nodes whose work is part of another node's layer, and which that is.
std::map<std::size_t, std::size_t> fused_into(const plan::Plan&);
/// Its own predicted time; 0 for what has no price.
double node_ms(const compile::Compiled&, std::size_t node);
/// The reason, the line of the target file, and the change.
std::string text_of(const Reason&);

}  // namespace longshore
