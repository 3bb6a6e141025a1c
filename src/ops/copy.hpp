// Operators that only hand bytes on.
#pragma once
#include <cstring>

#include "ir/op.hpp"

namespace longshore::ops {

/// Output 0 is input 0, byte for byte, quantised or not.
inline Status eval_copy(EvalContext& c) noexcept {
  const TensorView& x = c.input(0);
  MutableView y;
  LONGSHORE_TRY(c.output(0, x.shape, y));
  if (x.bytes() > 0) std::memcpy(y.data, x.data, x.bytes());
  return {};
}

}  // namespace longshore::ops
