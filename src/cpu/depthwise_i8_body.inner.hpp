// The inner loop of integer depthwise convolution, written once for all ISAs.
#pragma once
#include "cpu/depthwise_i8.inner.hpp"
#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace longshore::cpu {
namespace {

void row_i8(const DepthwiseRowI8& r) {
  size_t i = 0;
#if defined(__AVX512BW__)
  // A word widened with zeros times (weight, 0) is one product for each sum.
  for (; i + 32 <= r.n; i += 32) {
    __m512i first = _mm512_setzero_si512(), second = first;
    for (size_t t = 0; t < r.taps; t++) {
      const __m512i w = _mm512_set1_epi32(static_cast<uint16_t>(r.weight[t]));
      const int16_t* from = r.from[t] + i;
      const auto words = [](const int16_t* p) {
        return _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
      };
      first = _mm512_add_epi32(first, _mm512_madd_epi16(words(from), w));
      second = _mm512_add_epi32(second, _mm512_madd_epi16(words(from + 16), w));
    }
    _mm512_storeu_si512(r.sums + i, first);
    _mm512_storeu_si512(r.sums + i + 16, second);
  }
#endif
#if defined(__AVX2__)
  for (; i + 8 <= r.n; i += 8) {
    __m256i sum = _mm256_setzero_si256();
    for (size_t t = 0; t < r.taps; t++) {
      const __m256i w = _mm256_set1_epi32(static_cast<uint16_t>(r.weight[t]));
      const __m256i x =
          _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(r.from[t] + i)));
      sum = _mm256_add_epi32(sum, _mm256_madd_epi16(x, w));
    }
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(r.sums + i), sum);
  }
#endif
  for (; i < r.n; i++) {
    int32_t sum = 0;
    for (size_t t = 0; t < r.taps; t++) sum += r.weight[t] * r.from[t][i];
    r.sums[i] = sum;
  }
}

constexpr DepthwiseI8 depthwise_i8 = {row_i8};

}  // namespace
}  // namespace longshore::cpu
