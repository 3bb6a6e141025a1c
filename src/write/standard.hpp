#pragma once
#include "ir/graph.hpp"

namespace longshore {

/// The graph in operators that ONNX has: those that it lacks (OpDef::to_standard) are taken apart.
/// Values keep their codes and names; what lies between the parts is float, or has the codes of
/// what is moved. Throws, naming node and operator, where an operator has no counterpart.
Graph with_standard_operators(const Graph&);

/// Codes and scales in the form that ONNX has for them: each operator computes in float between
/// DequantizeLinear and QuantizeLinear (QDQ), whose scales and zero points are constants, and no
/// type carries a scale any more. import_quantised is the way back. `unsigned_bytes`: i8 codes
/// between operators become u8, the same numbers 128 higher.
Graph with_explicit_scales(const Graph&, bool unsigned_bytes = false);

}  // namespace longshore
