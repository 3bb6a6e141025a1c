// Shared by LayerNormalization and RMSNormalization: their rows of codes, and their NPU form.
#pragma once
#include "ops/norm.hpp"

namespace longshore::ops {

/// By the integer formula where it applies, else by way of float. `bias` is the number of that
/// input, or -1.
Status eval_norm_quantised(const OpDef&, EvalContext&, bool subtract_mean, int bias) noexcept;

/// Rank, and `row`: elements from the axis on.
void norm_facts(const NodeTypes&, Facts&);

FormSpec norm_form(const NodeTypes&, std::string_view function, int bias);

}  // namespace longshore::ops
