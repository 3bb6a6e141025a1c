#pragma once
#include <stddef.h>

namespace longshore::cpu {

/// y[i] = start + sum over taps of weight[t] * from[t][i], then the clamp.
struct DepthwiseRowF32 {
  const float* const* from;
  const float* weight;
  size_t taps;
  float start;
  float* y;
  size_t n;
  bool clamp;
  float low, high;
};

struct DepthwiseF32 {
  void (*row)(const DepthwiseRowF32&);
};

}  // namespace longshore::cpu
