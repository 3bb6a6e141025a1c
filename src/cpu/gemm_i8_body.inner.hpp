// The integer micro-kernel, written once for all ISAs.
#pragma once
#include "cpu/gemm_i8.inner.hpp"
#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace longshore::cpu {
namespace {

#define LONGSHORE_INLINE_I8 [[gnu::always_inline, maybe_unused]] static inline

#if defined(__AVX512BW__)
using Ints = __m512i;
constexpr size_t int_lanes = 16, int_rows = 12;
LONGSHORE_INLINE_I8 Ints load_ints(const int32_t* p) { return _mm512_loadu_si512(p); }
LONGSHORE_INLINE_I8 void store_ints(int32_t* p, Ints v) { _mm512_storeu_si512(p, v); }
LONGSHORE_INLINE_I8 Ints all_ints(int32_t x) { return _mm512_set1_epi32(x); }
LONGSHORE_INLINE_I8 Ints no_ints() { return _mm512_setzero_si512(); }
#if defined(__AVX512VNNI__)
// vpdpbusd multiplies u8 by i8. Inline assembly, because GCC 12 copies registers around the
// intrinsic.
LONGSHORE_INLINE_I8 void dot(Ints& acc, Ints bytes, Ints weights) {
  __asm__("vpdpbusd %2, %1, %0" : "+v"(acc) : "v"(bytes), "v"(weights));
}
#else
LONGSHORE_INLINE_I8 void dot(Ints& acc, Ints a, Ints b) {
  acc = _mm512_add_epi32(acc, _mm512_madd_epi16(a, b));
}
#endif
#elif defined(__AVX2__)
using Ints = __m256i;
constexpr size_t int_lanes = 8, int_rows = 6;
LONGSHORE_INLINE_I8 Ints load_ints(const int32_t* p) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}
LONGSHORE_INLINE_I8 void store_ints(int32_t* p, Ints v) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v);
}
LONGSHORE_INLINE_I8 Ints all_ints(int32_t x) { return _mm256_set1_epi32(x); }
LONGSHORE_INLINE_I8 Ints no_ints() { return _mm256_setzero_si256(); }
LONGSHORE_INLINE_I8 void dot(Ints& acc, Ints a, Ints b) {
  acc = _mm256_add_epi32(acc, _mm256_madd_epi16(a, b));
}
#elif defined(__SSE2__)
using Ints = __m128i;
constexpr size_t int_lanes = 4, int_rows = 4;
LONGSHORE_INLINE_I8 Ints load_ints(const int32_t* p) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
}
LONGSHORE_INLINE_I8 void store_ints(int32_t* p, Ints v) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), v);
}
LONGSHORE_INLINE_I8 Ints all_ints(int32_t x) { return _mm_set1_epi32(x); }
LONGSHORE_INLINE_I8 Ints no_ints() { return _mm_setzero_si128(); }
LONGSHORE_INLINE_I8 void dot(Ints& acc, Ints a, Ints b) {
  acc = _mm_add_epi32(acc, _mm_madd_epi16(a, b));
}
#else
struct Ints {
  int32_t x[4];
};
constexpr size_t int_lanes = 4, int_rows = 4;
LONGSHORE_INLINE_I8 Ints load_ints(const int32_t* p) { return {{p[0], p[1], p[2], p[3]}}; }
LONGSHORE_INLINE_I8 void store_ints(int32_t* p, Ints v) {
  for (int i = 0; i < 4; i++) p[i] = v.x[i];
}
LONGSHORE_INLINE_I8 Ints all_ints(int32_t x) { return {{x, x, x, x}}; }
LONGSHORE_INLINE_I8 Ints no_ints() { return {}; }
LONGSHORE_INLINE_I8 void dot(Ints& acc, Ints a, Ints b) {
  for (int i = 0; i < 4; i++) {
    const auto low = [](int32_t v) {
      return static_cast<int32_t>(static_cast<int16_t>(v & 0xffff));
    };
    const int32_t sum = low(a.x[i]) * low(b.x[i]) + (a.x[i] >> 16) * (b.x[i] >> 16);
    acc.x[i] = static_cast<int32_t>(static_cast<uint32_t>(acc.x[i]) + static_cast<uint32_t>(sum));
  }
}
#endif
constexpr size_t int_vectors = 2;

template <size_t rows, size_t vectors, bool b_is_weights>
void int_tile(const GemmTileI8& t) {
  Ints acc[rows][vectors];
#pragma GCC unroll 16
  for (size_t i = 0; i < rows; i++)
#pragma GCC unroll 16
    for (size_t j = 0; j < vectors; j++) acc[i][j] = no_ints();
  const int32_t *a = t.a, *b = t.b;
  for (size_t g = 0; g < t.groups; g++) {
    Ints vb[vectors];
#pragma GCC unroll 16
    for (size_t j = 0; j < vectors; j++) vb[j] = load_ints(b + j * int_lanes);
#pragma GCC unroll 16
    for (size_t i = 0; i < rows; i++) {
      const Ints va = all_ints(a[i]);
#pragma GCC unroll 16
      for (size_t j = 0; j < vectors; j++) {
        if (b_is_weights)
          dot(acc[i][j], va, vb[j]);
        else
          dot(acc[i][j], vb[j], va);
      }
    }
    a += rows;
    b += t.b_stride;
  }
#pragma GCC unroll 16
  for (size_t i = 0; i < rows; i++)
#pragma GCC unroll 16
    for (size_t j = 0; j < vectors; j++)
      store_ints(t.sums + i * t.sums_stride + j * int_lanes, acc[i][j]);
}

template <size_t rows, bool b_is_weights>
void any_int_tile(const GemmTileI8& t) {
  if constexpr (rows > 0) {
    if (t.m != rows) return any_int_tile<rows - 1, b_is_weights>(t);
    if (t.n > int_lanes)
      int_tile<rows, int_vectors, b_is_weights>(t);
    else
      int_tile<rows, 1, b_is_weights>(t);
  }
}

void interleave_bytes(const uint8_t* const rows[4], uint8_t flip, uint8_t* out, size_t n) {
  size_t i = 0;
#if defined(__SSE2__)
  const __m128i change = _mm_set1_epi8(static_cast<char>(flip));
  const auto row = [&](int r) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(rows[r] + i));
  };
  for (; i + 16 <= n; i += 16) {
    const __m128i ab_low = _mm_unpacklo_epi8(row(0), row(1)),
                  ab_high = _mm_unpackhi_epi8(row(0), row(1));
    const __m128i cd_low = _mm_unpacklo_epi8(row(2), row(3)),
                  cd_high = _mm_unpackhi_epi8(row(2), row(3));
    __m128i* to = reinterpret_cast<__m128i*>(out + 4 * i);
    _mm_storeu_si128(to, _mm_xor_si128(_mm_unpacklo_epi16(ab_low, cd_low), change));
    _mm_storeu_si128(to + 1, _mm_xor_si128(_mm_unpackhi_epi16(ab_low, cd_low), change));
    _mm_storeu_si128(to + 2, _mm_xor_si128(_mm_unpacklo_epi16(ab_high, cd_high), change));
    _mm_storeu_si128(to + 3, _mm_xor_si128(_mm_unpackhi_epi16(ab_high, cd_high), change));
  }
#endif
  for (; i < n; i++)
    for (size_t r = 0; r < 4; r++) out[4 * i + r] = static_cast<uint8_t>(rows[r][i] ^ flip);
}

void interleave_words(const uint8_t* const rows[2], bool is_signed, int16_t zero, int16_t* out,
                      size_t n) {
  size_t i = 0;
#if defined(__SSE2__)
  const __m128i less = _mm_set1_epi16(zero), none = _mm_setzero_si128();
  for (; i + 8 <= n; i += 8) {
    __m128i wide[2];
    for (int r = 0; r < 2; r++) {
      const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(rows[r] + i));
      const __m128i high = is_signed ? _mm_cmpgt_epi8(none, bytes) : none;
      wide[r] = _mm_sub_epi16(_mm_unpacklo_epi8(bytes, high), less);
    }
    __m128i* to = reinterpret_cast<__m128i*>(out + 2 * i);
    _mm_storeu_si128(to, _mm_unpacklo_epi16(wide[0], wide[1]));
    _mm_storeu_si128(to + 1, _mm_unpackhi_epi16(wide[0], wide[1]));
  }
#endif
  for (; i < n; i++)
    for (size_t r = 0; r < 2; r++) {
      const int value = is_signed ? static_cast<int>(static_cast<int8_t>(rows[r][i]))
                                  : static_cast<int>(rows[r][i]);
      out[2 * i + r] = static_cast<int16_t>(value - zero);
    }
}

#if defined(__AVX512VNNI__)
constexpr int element_bytes = 1;
#else
constexpr int element_bytes = 2;
#endif
constexpr GemmI8 gemm_i8 = {int_rows,
                            int_vectors* int_lanes,
                            element_bytes,
                            any_int_tile<int_rows, false>,
                            any_int_tile<int_rows, true>,
                            interleave_bytes,
                            interleave_words};

}  // namespace
}  // namespace longshore::cpu
