#pragma once
#include <stddef.h>

namespace longshore::cpu {

/// y[i] = f(a[i * step_a], b[i * step_b]) with steps 0 or 1. y may be a or b.
using BinaryF32 = void (*)(const float* a, size_t step_a, const float* b, size_t step_b, float* y,
                           size_t n);
/// y[i] = f(x[i]); y may be x. p and q are the function's parameters.
using UnaryF32 = void (*)(const float* x, float* y, size_t n, float p, float q);

struct EltwiseF32 {
  BinaryF32 add, sub, mul, div;
  UnaryF32 relu;        // NaN stays
  UnaryF32 clip;        // into [p, q]
  UnaryF32 leaky_relu;  // p * x below 0
  UnaryF32 sigmoid, silu, tanh, exp;
  UnaryF32 hard_sigmoid;  // clip(p * x + q, 0, 1)
  UnaryF32 hard_swish;    // x * clip(x / 6 + 0.5, 0, 1)
};

}  // namespace longshore::cpu
