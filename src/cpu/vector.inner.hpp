// One vector of floats of the ISA that the including file is compiled for. Everything has internal
// linkage: copies made with different flags must never meet in the linker.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace longshore::cpu {
namespace {

#define LONGSHORE_INLINE [[gnu::always_inline, maybe_unused]] static inline

#if defined(__AVX512F__)
using V = __m512;
using I = __m512i;
constexpr size_t lanes = 16;
LONGSHORE_INLINE __mmask16 lane_mask(size_t n) { return static_cast<__mmask16>((1u << n) - 1); }
LONGSHORE_INLINE V load(const float* p) { return _mm512_loadu_ps(p); }
LONGSHORE_INLINE void store(float* p, V v) { _mm512_storeu_ps(p, v); }
LONGSHORE_INLINE V load_some(const float* p, size_t n) {
  return _mm512_maskz_loadu_ps(lane_mask(n), p);
}
LONGSHORE_INLINE void store_some(float* p, V v, size_t n) {
  _mm512_mask_storeu_ps(p, lane_mask(n), v);
}
LONGSHORE_INLINE V all(float x) { return _mm512_set1_ps(x); }
LONGSHORE_INLINE V fma(V a, V b, V c) { return _mm512_fmadd_ps(a, b, c); }
LONGSHORE_INLINE V add(V a, V b) { return _mm512_add_ps(a, b); }
LONGSHORE_INLINE V sub(V a, V b) { return _mm512_sub_ps(a, b); }
LONGSHORE_INLINE V mul(V a, V b) { return _mm512_mul_ps(a, b); }
LONGSHORE_INLINE V div(V a, V b) { return _mm512_div_ps(a, b); }
/// The second operand where one is NaN.
LONGSHORE_INLINE V max(V a, V b) { return _mm512_max_ps(a, b); }
LONGSHORE_INLINE V min(V a, V b) { return _mm512_min_ps(a, b); }
LONGSHORE_INLINE V where_greater(V a, V b, V yes, V no) {
  return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_GT_OQ), no, yes);
}
LONGSHORE_INLINE V where_nan(V test, V yes, V no) {
  return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(test, test, _CMP_UNORD_Q), no, yes);
}
LONGSHORE_INLINE V root(V a) { return _mm512_sqrt_ps(a); }
LONGSHORE_INLINE V magnitude(V a) { return _mm512_abs_ps(a); }
LONGSHORE_INLINE I nearest(V a) { return _mm512_cvtps_epi32(a); }
LONGSHORE_INLINE V to_float(I a) { return _mm512_cvtepi32_ps(a); }
LONGSHORE_INLINE I half(I a) { return _mm512_srai_epi32(a, 1); }
LONGSHORE_INLINE I sub_int(I a, I b) { return _mm512_sub_epi32(a, b); }
LONGSHORE_INLINE V power_of_two(I n) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_add_epi32(n, _mm512_set1_epi32(127)), 23));
}
LONGSHORE_INLINE float sum(V a) { return _mm512_reduce_add_ps(a); }
LONGSHORE_INLINE float greatest(V a) { return _mm512_reduce_max_ps(a); }
#elif defined(__AVX2__)
using V = __m256;
using I = __m256i;
constexpr size_t lanes = 8;
LONGSHORE_INLINE __m256i lane_mask(size_t n) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)),
                            _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
LONGSHORE_INLINE V load(const float* p) { return _mm256_loadu_ps(p); }
LONGSHORE_INLINE void store(float* p, V v) { _mm256_storeu_ps(p, v); }
LONGSHORE_INLINE V load_some(const float* p, size_t n) {
  return _mm256_maskload_ps(p, lane_mask(n));
}
LONGSHORE_INLINE void store_some(float* p, V v, size_t n) {
  _mm256_maskstore_ps(p, lane_mask(n), v);
}
LONGSHORE_INLINE V all(float x) { return _mm256_set1_ps(x); }
LONGSHORE_INLINE V fma(V a, V b, V c) { return _mm256_fmadd_ps(a, b, c); }
LONGSHORE_INLINE V add(V a, V b) { return _mm256_add_ps(a, b); }
LONGSHORE_INLINE V sub(V a, V b) { return _mm256_sub_ps(a, b); }
LONGSHORE_INLINE V mul(V a, V b) { return _mm256_mul_ps(a, b); }
LONGSHORE_INLINE V div(V a, V b) { return _mm256_div_ps(a, b); }
LONGSHORE_INLINE V max(V a, V b) { return _mm256_max_ps(a, b); }
LONGSHORE_INLINE V min(V a, V b) { return _mm256_min_ps(a, b); }
LONGSHORE_INLINE V where_greater(V a, V b, V yes, V no) {
  return _mm256_blendv_ps(no, yes, _mm256_cmp_ps(a, b, _CMP_GT_OQ));
}
LONGSHORE_INLINE V where_nan(V test, V yes, V no) {
  return _mm256_blendv_ps(no, yes, _mm256_cmp_ps(test, test, _CMP_UNORD_Q));
}
LONGSHORE_INLINE V root(V a) { return _mm256_sqrt_ps(a); }
LONGSHORE_INLINE V magnitude(V a) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a); }
LONGSHORE_INLINE I nearest(V a) { return _mm256_cvtps_epi32(a); }
LONGSHORE_INLINE V to_float(I a) { return _mm256_cvtepi32_ps(a); }
LONGSHORE_INLINE I half(I a) { return _mm256_srai_epi32(a, 1); }
LONGSHORE_INLINE I sub_int(I a, I b) { return _mm256_sub_epi32(a, b); }
LONGSHORE_INLINE V power_of_two(I n) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(n, _mm256_set1_epi32(127)), 23));
}
#else
// The baseline of the compiler's target, through vector extensions: SSE2, NEON, ...
typedef float V __attribute__((vector_size(16)));
typedef int32_t I __attribute__((vector_size(16)));
constexpr size_t lanes = 4;
LONGSHORE_INLINE V load(const float* p) {
  V v;
  memcpy(&v, p, sizeof v);
  return v;
}
LONGSHORE_INLINE void store(float* p, V v) { memcpy(p, &v, sizeof v); }
LONGSHORE_INLINE V load_some(const float* p, size_t n) {
  V v = {};
  for (size_t i = 0; i < n; i++) v[i] = p[i];
  return v;
}
LONGSHORE_INLINE void store_some(float* p, V v, size_t n) {
  for (size_t i = 0; i < n; i++) p[i] = v[i];
}
LONGSHORE_INLINE V all(float x) { return V{x, x, x, x}; }
LONGSHORE_INLINE V fma(V a, V b, V c) { return a * b + c; }
LONGSHORE_INLINE V add(V a, V b) { return a + b; }
LONGSHORE_INLINE V sub(V a, V b) { return a - b; }
LONGSHORE_INLINE V mul(V a, V b) { return a * b; }
LONGSHORE_INLINE V div(V a, V b) { return a / b; }
LONGSHORE_INLINE V max(V a, V b) { return a > b ? a : b; }
LONGSHORE_INLINE V min(V a, V b) { return a < b ? a : b; }
LONGSHORE_INLINE V where_greater(V a, V b, V yes, V no) { return a > b ? yes : no; }
LONGSHORE_INLINE V where_nan(V test, V yes, V no) { return test == test ? no : yes; }
LONGSHORE_INLINE V root(V a) {
  for (int i = 0; i < 4; i++) a[i] = __builtin_sqrtf(a[i]);
  return a;
}
LONGSHORE_INLINE V magnitude(V a) {
  return reinterpret_cast<V>(reinterpret_cast<I>(a) & 0x7fffffff);
}
LONGSHORE_INLINE I nearest(V a) {
  I n = {};
  for (int i = 0; i < 4; i++) {
    const float x =
        a[i] > -1e6f && a[i] < 1e6f ? a[i] : 0;  // NaN and far too large: any number will do
    n[i] = static_cast<int32_t>(x + (x < 0 ? -0.5f : 0.5f));
  }
  return n;
}
LONGSHORE_INLINE V to_float(I a) { return __builtin_convertvector(a, V); }
LONGSHORE_INLINE I half(I a) { return a >> 1; }
LONGSHORE_INLINE I sub_int(I a, I b) { return a - b; }
LONGSHORE_INLINE V power_of_two(I n) { return reinterpret_cast<V>((n + 127) << 23); }
#endif

#if !defined(__AVX512F__)
LONGSHORE_INLINE float sum(V a) {
  float x[lanes], total = 0;
  store(x, a);
  for (size_t i = 0; i < lanes; i++) total += x[i];
  return total;
}
LONGSHORE_INLINE float greatest(V a) {
  float x[lanes];
  store(x, a);
  float most = x[0];
  for (size_t i = 1; i < lanes; i++) most = x[i] > most ? x[i] : most;
  return most;
}
#endif

/// e^x within 2 ULP of a normal result; 0 below -87.3, infinity above 88.7228, NaN for NaN.
LONGSHORE_INLINE V exp(V x) {
  const V in = min(all(88.8f), max(all(-87.4f), x));  // NaN passes
  const I n = nearest(mul(in, all(1.44269504f)));
  const V k = to_float(n);
  // x - n*ln2 in two parts: the first product is exact.
  V r = fma(k, all(-0.693359375f), in);
  r = fma(k, all(2.12194440e-4f), r);
  V p = all(1.9875691500e-4f);
  p = fma(p, r, all(1.3981999507e-3f));
  p = fma(p, r, all(8.3334519073e-3f));
  p = fma(p, r, all(4.1665795894e-2f));
  p = fma(p, r, all(1.6666665459e-1f));
  p = fma(p, r, all(5.0000001201e-1f));
  p = add(fma(p, mul(r, r), r), all(1.0f));
  // In two factors, since 2^128 is no float.
  const I first = half(n);
  V y = mul(mul(p, power_of_two(first)), power_of_two(sub_int(n, first)));
  y = where_greater(x, all(88.7228f), all(__builtin_inff()), y);
  return where_greater(all(-87.33f), x, all(0.0f), y);
}
/// The larger, or NaN where either is NaN.
LONGSHORE_INLINE V larger(V a, V b) { return where_nan(a, a, max(a, b)); }
/// 1 / (1 + e^-x)
LONGSHORE_INLINE V sigmoid(V x) { return div(all(1.0f), add(all(1.0f), exp(sub(all(0.0f), x)))); }

}  // namespace
}  // namespace longshore::cpu
