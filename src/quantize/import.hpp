#pragma once
#include "ir/graph.hpp"

namespace longshore {

/// Brings a model that was quantised elsewhere into the quantised form of docs/numbers.md. Reads
/// the form with explicit nodes (DequantizeLinear, operator, QuantizeLinear: QDQ) and that with
/// integer operators (QLinearConv, QLinearMatMul). What is not constant or not per tensor (weights:
/// per output channel) stays as it is. Run it before the optimiser, which folds constant weights to
/// float. A graph without such nodes comes back unchanged.
///
/// QLinear operators and moves, tables and element-wise operators between Dequantize and Quantize
/// keep every byte. Convolutions, products and averages become integer sums: they follow the
/// integer formula, not float's rounding.
Graph import_quantised(const Graph&);

}  // namespace longshore
