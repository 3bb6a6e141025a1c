// Shared by longshore.Quantize, longshore.Dequantize and longshore.Requantize.
#pragma once
#include "ops/copy.hpp"
#include "ops/elementwise.hpp"
#include "tensor/quant.hpp"

namespace longshore::ops {

/// Output 0 is input 0 in the output's representation: float to codes, codes to float, or codes to
/// codes of another scale by way of float.
inline Status eval_recode(EvalContext& c) noexcept {
  const TensorView& x = c.input(0);
  MutableView y;
  LONGSHORE_TRY(c.output(0, x.shape, y));
  if (x.quant.count == 0) return y.quant.count == 0 ? eval_copy(c) : quantise_tensor(x, y);
  if (y.quant.count == 0) return dequantise_tensor(x, y);
  const auto [lowest, highest] = code_range(y.dtype);
  for (std::int64_t i = 0, n = y.elements(); i < n; i++) {
    const std::int64_t j = quant_index(x.quant, x.shape, i), k = quant_index(y.quant, y.shape, i);
    const float real = dequantise(load_code(x, i), x.quant.scale[j], x.quant.zero_point[j]);
    store_code(y, i, quantise(real, y.quant.scale[k], y.quant.zero_point[k], lowest, highest));
  }
  return {};
}

}  // namespace longshore::ops
