// Which nodes need activations of 16 bits, so that a model's answers stay as near to float's as is
// asked, and which of those choices is cheap.
#pragma once
#include "quantize/quantize.hpp"

namespace longshore {

/// quantize with 16-bit activations (w8a16) for nodes whose 8 bits harm the outputs, so that those
/// of calibration samples come as near to float's as `options.min_sqnr_db` and `options.max_drop`
/// ask; all nodes where even that is not enough. What the codes of each value do alone is measured
/// once; these add up well, so that a choice can be judged without making it. The cheapest that
/// should do (WidthProblem) is made and compared on the first 32 samples, and what was expected is
/// corrected by what was found, a few times.
Graph quantize_mixed(const Graph& optimised_float_graph, const Calibration&,
                     const QuantizeOptions& options, QuantizeReport&);

}  // namespace longshore
