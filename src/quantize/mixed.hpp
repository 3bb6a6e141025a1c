// Which nodes need activations of 16 bits, so that a model's answers stay as near to float's as is
// asked.
#pragma once
#include "quantize/quantize.hpp"

namespace longshore {

/// quantize with 16-bit activations (w8a16) for the nodes that 8 bits harm most: as few of them as
/// lift the outputs of calibration samples to `options.min_sqnr_db`, all of them where even that is
/// not enough. Some log2(nodes) + 10 quantisations, and as many runs of the first 32
/// samples, whose outputs are compared.
Graph quantize_mixed(const Graph& optimised_float_graph, const Calibration&,
                     const QuantizeOptions& options, QuantizeReport&);

}  // namespace longshore
