#pragma once
#include <stddef.h>
#include <stdint.h>

namespace longshore::cpu {

/// codes[i] = round_half_even(clamp(float(sums[i] + add) * real)) + zero_point: the rounding mode
/// f32_even. step 0: one `add` and `real` for all; 1: one for each i.
struct RequantiseRow {
  const int32_t* sums;
  const int32_t* add;
  const float* real;
  size_t step;
  int32_t zero_point, lowest, highest;
  void* codes;  // i8 or u8
  size_t n;
};

/// A quantised operand: float(q - zero_point) * scale.
struct CodesI8 {
  const void* codes;
  size_t step;  // 0: the first code for all
  bool is_signed;
  int32_t zero_point;
  float scale;
};
/// codes[i] = quantise(f(dequantise(a[i]), dequantise(b[i]))).
struct BinaryRowI8 {
  CodesI8 a, b;
  float scale;
  int32_t zero_point, lowest, highest;
  void* codes;
  size_t n;
};
/// The same of float inputs: codes[i] = quantise(x[i]).
struct QuantiseRow {
  const float* x;
  float scale;
  int32_t zero_point, lowest, highest;
  void* codes;
  size_t n;
};
struct DequantiseRow {
  CodesI8 x;
  float* y;
  size_t n;
};

/// A normalised row: codes[i] = quantise(float(times * d - less) * factor * scale[i] + bias[i]),
/// where d is the code less its zero point; its scale is not used. bias may be null. No product
/// overflows.
struct NormRowI8 {
  CodesI8 x;
  int32_t times, less;
  float factor;
  const float* scale;
  const float* bias;
  float out_scale;
  int32_t zero_point, lowest, highest;
  void* codes;
  size_t n;
};

struct Requantise {
  void (*row)(const RequantiseRow&);
  void (*add)(const BinaryRowI8&);
  void (*sub)(const BinaryRowI8&);
  void (*mul)(const BinaryRowI8&);
  void (*div)(const BinaryRowI8&);
  void (*quantise)(const QuantiseRow&);
  void (*dequantise)(const DequantiseRow&);
  /// Sums of the codes less their zero point, and of their squares, of at most 65535.
  void (*moments)(const CodesI8& x, size_t n, int64_t* sum, int64_t* squares);
  void (*norm)(const NormRowI8&);
};

}  // namespace longshore::cpu
