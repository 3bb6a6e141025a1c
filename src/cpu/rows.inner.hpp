#pragma once
#include <stddef.h>
#include <stdint.h>

namespace longshore::cpu {

/// Functions of whole rows.
struct Rows {
  /// y[i] = the largest of from[t][i]; for floats NaN where any is NaN.
  void (*max_f32)(const float* const* from, size_t taps, float* y, size_t n);
  void (*max_i8)(const int8_t* const* from, size_t taps, int8_t* y, size_t n);
  void (*max_u8)(const uint8_t* const* from, size_t taps, uint8_t* y, size_t n);
  float (*sum_f32)(const float* x, size_t n);
  /// y = e^(x - max x) / sum of these. y may be x. NaN gives NaN.
  void (*softmax)(const float* x, float* y, size_t n);
  /// y = (x - mean) / sqrt(variance + epsilon) * scale + bias; bias may be null. y may be x.
  void (*layer_norm)(const float* x, const float* scale, const float* bias, float epsilon, float* y,
                     size_t n);
  /// y = x / 2 * (1 + erf(x / sqrt 2)), erf within 2e-7.
  void (*gelu)(const float* x, float* y, size_t n);
};

}  // namespace longshore::cpu
