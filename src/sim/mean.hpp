#pragma once
#include <cmath>

#include "base/status.hpp"
#include "tensor/requantise.hpp"

namespace longshore {

/// The multiplier of a mean; an error where scales far apart leave the range of float32.
inline Status mean_multiplier(float in_scale, float out_scale, std::uint64_t count, Multiplier& m) {
  m = make_multiplier(in_scale, 1.0f, out_scale * static_cast<float>(count));
  if (std::isfinite(m.real)) return {};
  return Status::error(Code::bad_model, "the scales %g and %g are too far apart",
                       static_cast<double>(in_scale), static_cast<double>(out_scale));
}

}  // namespace longshore
