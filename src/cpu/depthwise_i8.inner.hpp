#pragma once
#include <stddef.h>
#include <stdint.h>

namespace longshore::cpu {

/// sums[i] = sum over taps of weight[t] * from[t][i], exactly.
struct DepthwiseRowI8 {
  const int16_t* const* from;
  const int16_t* weight;
  size_t taps;
  int32_t* sums;
  size_t n;
};

struct DepthwiseI8 {
  void (*row)(const DepthwiseRowI8&);
};

}  // namespace longshore::cpu
