// Which nodes need activations of 16 bits, so that a model's answers stay as near to float's as is
// asked.
#pragma once
#include "quantize/quantize.hpp"

namespace longshore {

/// The nodes that 8 bits harm most, as few of them as lift the outputs of calibration samples to
/// `options.min_sqnr_db`, as w8a16 by the names of their outputs; all of them where even that is
/// not enough. About log2(nodes) + 10 quantisations by at most 32 samples, and runs of these.
std::vector<NodePrecision> choose_wide(const Graph& optimised_float_graph, const Calibration&,
                                       const QuantizeOptions& options, Mixed&);

}  // namespace longshore
