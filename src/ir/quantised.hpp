#pragma once
#include "base/status.hpp"
#include "tensor/eval_context.hpp"

namespace longshore {

struct OpDef;

/// The default meaning of an operator on quantised values: dequantise, eval, quantise, in that
/// order, or of a function of 16-bit codes the table of tensor/table_codes.hpp. Allocates; for the
/// reference only.
Status eval_dequantised(const OpDef&, EvalContext&) noexcept;

}  // namespace longshore
