#pragma once
#include "ir/op.hpp"

/// The operators that change nothing but the representation: floats to codes, codes to floats,
/// codes to other codes.
namespace longshore::ops {
extern const OpDef op_longshore_quantize, op_longshore_dequantize, op_longshore_requantize;
}
