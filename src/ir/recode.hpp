#pragma once
#include "ir/op.hpp"

/// The operators that change nothing but the representation: floats to codes, codes to floats,
/// codes to other codes; then those of ONNX, which get scales as inputs, and the one that changes
/// nothing at all.
namespace longshore::ops {
namespace op_longshore_quantize {
extern const OpDef definition;
}
namespace op_longshore_dequantize {
extern const OpDef definition;
}
namespace op_longshore_requantize {
extern const OpDef definition;
}
namespace op_quantize_linear {
extern const OpDef definition;
}
namespace op_dequantize_linear {
extern const OpDef definition;
}
namespace op_identity {
extern const OpDef definition;
}
}  // namespace longshore::ops
