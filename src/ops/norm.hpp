// Shared by the normalisations: moments of a run of elements.
#pragma once
#include "ops/elementwise.hpp"
#include "tensor/convert.hpp"

namespace longshore::ops {

struct Moments {
  double mean = 0, variance = 0;
};

/// Of `count` elements in a row, in double and in two passes: a constant row has variance 0.
template <class T>
Moments moments(const T* x, std::int64_t count) {
  Moments m;
  const auto n = static_cast<double>(count);
  for (std::int64_t i = 0; i < count; i++) m.mean += static_cast<Compute<T>>(x[i]);
  m.mean /= n;
  for (std::int64_t i = 0; i < count; i++) {
    const double d = static_cast<Compute<T>>(x[i]) - m.mean;
    m.variance += d * d;
  }
  m.variance /= n;
  return m;
}

/// x is seen as [batch, channels, area] of which `groups` channels' parts share their moments:
/// y = (x - mean) / sqrt(variance + epsilon) * scale[channel] + bias[channel].
Status eval_group_norm(EvalContext& c, std::int64_t groups, double epsilon) noexcept;

}  // namespace longshore::ops
