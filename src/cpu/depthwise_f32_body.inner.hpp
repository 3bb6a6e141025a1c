// The inner loop of f32 depthwise convolution, written once for all ISAs.
#pragma once
#include "cpu/depthwise_f32.inner.hpp"
#include "cpu/vector.inner.hpp"

namespace longshore::cpu {
namespace {

// Four vectors at a time hide the latency of the multiply-adds.
void row(const DepthwiseRowF32& r) {
  const V low = all(r.low), high = all(r.high);
  constexpr size_t together = 4;
  size_t i = 0;
  for (; i + together * lanes <= r.n; i += together * lanes) {
    V acc[together];
#pragma GCC unroll 4
    for (size_t j = 0; j < together; j++) acc[j] = all(r.start);
    for (size_t t = 0; t < r.taps; t++) {
      const V w = all(r.weight[t]);
      const float* from = r.from[t] + i;
#pragma GCC unroll 4
      for (size_t j = 0; j < together; j++) acc[j] = fma(w, load(from + j * lanes), acc[j]);
    }
#pragma GCC unroll 4
    for (size_t j = 0; j < together; j++) {
      if (r.clamp) acc[j] = min(high, max(low, acc[j]));
      store(r.y + i + j * lanes, acc[j]);
    }
  }
  for (; i < r.n; i += lanes) {
    const size_t left = r.n - i;
    const bool full = left >= lanes;
    V acc = all(r.start);
    for (size_t t = 0; t < r.taps; t++)
      acc = fma(all(r.weight[t]), full ? load(r.from[t] + i) : load_some(r.from[t] + i, left), acc);
    if (r.clamp) acc = min(high, max(low, acc));
    if (full)
      store(r.y + i, acc);
    else
      store_some(r.y + i, acc, left);
  }
}

constexpr DepthwiseF32 depthwise_f32 = {row};

}  // namespace
}  // namespace longshore::cpu
