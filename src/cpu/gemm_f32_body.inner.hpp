// The f32 micro-kernel, written once for all ISAs: a tile of C lives in registers over the whole k.
#pragma once
#include "cpu/gemm_f32.inner.hpp"
#include "cpu/vector.inner.hpp"

namespace longshore::cpu {
namespace {

// Register use: rows * vectors accumulators, `vectors` of B, one broadcast of A.
#if defined(__AVX512F__)
constexpr size_t tile_rows = 12;
#elif defined(__AVX2__)
constexpr size_t tile_rows = 6;
#else
constexpr size_t tile_rows = 4;
#endif
constexpr size_t tile_vectors = 2;

LONGSHORE_INLINE V load_part(const float* p, size_t left) {
  return left >= lanes ? load(p) : left > 0 ? load_some(p, left) : all(0.0f);
}
LONGSHORE_INLINE void store_part(float* p, V v, size_t left) {
  if (left >= lanes)
    store(p, v);
  else if (left > 0)
    store_some(p, v, left);
}
LONGSHORE_INLINE size_t columns_left(size_t n, size_t vector) {
  return n > vector * lanes ? n - vector * lanes : 0;
}

template <size_t rows, bool full>
void tile(const GemmTileF32& t) {
  V acc[rows][tile_vectors];
#pragma GCC unroll 16
  for (size_t i = 0; i < rows; i++)
#pragma GCC unroll 16
    for (size_t j = 0; j < tile_vectors; j++) {
      if (t.accumulate) {
        const float* c = t.c + i * t.c_stride + j * lanes;
        acc[i][j] = full ? load(c) : load_part(c, columns_left(t.n, j));
      } else if (t.column_start) {
        acc[i][j] = full ? load(t.column_start + j * lanes)
                         : load_part(t.column_start + j * lanes, columns_left(t.n, j));
      } else {
        acc[i][j] = all(t.row_start ? t.row_start[i] : 0.0f);
      }
    }
  const float *a = t.a, *b = t.b;
  for (size_t k = 0; k < t.k; k++) {
    V vb[tile_vectors];
#pragma GCC unroll 16
    for (size_t j = 0; j < tile_vectors; j++)
      vb[j] = full ? load(b + j * lanes) : load_part(b + j * lanes, columns_left(t.n, j));
#pragma GCC unroll 16
    for (size_t i = 0; i < rows; i++) {
      const V va = all(a[i]);
#pragma GCC unroll 16
      for (size_t j = 0; j < tile_vectors; j++) acc[i][j] = fma(va, vb[j], acc[i][j]);
    }
    a += rows;
    b += t.b_stride;
  }
  const V low = all(t.low), high = all(t.high);
#pragma GCC unroll 16
  for (size_t i = 0; i < rows; i++)
#pragma GCC unroll 16
    for (size_t j = 0; j < tile_vectors; j++) {
      V v = acc[i][j];
      if (t.clamp) v = min(high, max(low, v));
      float* c = t.c + i * t.c_stride + j * lanes;
      if (full)
        store(c, v);
      else
        store_part(c, v, columns_left(t.n, j));
    }
}

template <size_t rows>
void any_tile(const GemmTileF32& t) {
  if constexpr (rows > 0) {
    if (t.m != rows) return any_tile<rows - 1>(t);
    if (t.n == tile_vectors * lanes)
      tile<rows, true>(t);
    else
      tile<rows, false>(t);
  }
}

constexpr GemmF32 gemm_f32 = {tile_rows, tile_vectors* lanes, any_tile<tile_rows>};

}  // namespace
}  // namespace longshore::cpu
