#pragma once
#include <stddef.h>
#include <stdint.h>

namespace longshore::cpu {

/// sums[m x n] = A * B in int32, exactly (modulo 2^32). Depth comes in groups that fill 32 bits:
/// four bytes (u8 activations, i8 weights) or two int16. One side is read as vectors of n, the
/// other as one group for each of the m rows.
struct GemmTileI8 {
  const int32_t* a;  // [groups][m]
  const int32_t* b;  // group g at b + g * b_stride
  size_t b_stride;
  int32_t* sums;
  size_t sums_stride;  // a multiple of the vector: whole vectors are stored
  size_t m, n, groups;
};

struct GemmI8 {
  size_t rows, columns;  // of a full tile
  int bytes;             // 1: groups of four u8 x i8; 2: groups of two i16
  /// B holds the activations (convolution: pixels are the vectors), A the weights.
  void (*weights_by_activations)(const GemmTileI8&);
  /// A holds the activations (matrix product: columns are the vectors), B the weights.
  void (*activations_by_weights)(const GemmTileI8&);
  /// Four rows of bytes, each xor flip, into groups: out[4 * i + r].
  void (*interleave_bytes)(const uint8_t* const rows[4], uint8_t flip, uint8_t* out, size_t n);
  /// Two rows of bytes, widened (signed or not) and less `zero`, into groups: out[2 * i + r].
  void (*interleave_words)(const uint8_t* const rows[2], bool is_signed, int16_t zero, int16_t* out,
                           size_t n);
};

}  // namespace longshore::cpu
