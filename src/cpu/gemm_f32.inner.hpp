#pragma once
#include <stddef.h>

namespace longshore::cpu {

/// C[m x n] = A * B (+ start), one tile of at most `rows` x `columns`.
struct GemmTileF32 {
  const float* a;  // packed [k][m]
  const float* b;  // row k at b + k * b_stride
  size_t b_stride;
  float* c;
  size_t c_stride;
  size_t m, n, k;
  const float* row_start;     // null, or m numbers to start the sums of each row with
  const float* column_start;  // null, or n numbers for the columns
  bool accumulate;            // start with C instead
  bool clamp;                 // finish with min(high, max(low, c)); NaN stays
  float low, high;
};

struct GemmF32 {
  size_t rows, columns;  // of a full tile
  void (*tile)(const GemmTileF32&);
};

}  // namespace longshore::cpu
