#include "sim/conv_paths.hpp"

#include <algorithm>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#define LONGSHORE_SIM_AVX2 [[gnu::target("avx2")]]
#endif

namespace longshore {
namespace {

constexpr std::uint32_t lanes = conv_lanes;

void block_generic(const std::int16_t* const (&window)[pixel_block], const Segments& s,
                   const std::int16_t* weights, std::int32_t (&acc)[pixel_block][lanes]) {
  for (std::uint32_t p = 0; p < pixel_block; p++) {
    std::uint32_t sum[lanes];  // unsigned: wraps without undefined behaviour
    for (std::uint32_t o = 0; o < lanes; o++) sum[o] = static_cast<std::uint32_t>(acc[p][o]);
    const std::int16_t* w = weights;
    for (std::uint32_t segment = 0; segment < s.count; segment++) {
      const std::int16_t* in = window[p] + s.offset[segment];
      for (std::uint32_t k = 0; k < s.pairs; k++, w += lanes * 2)
        for (std::uint32_t o = 0; o < lanes; o++)
          sum[o] += static_cast<std::uint32_t>(in[2 * k] * w[2 * o] + in[2 * k + 1] * w[2 * o + 1]);
    }
    for (std::uint32_t o = 0; o < lanes; o++) acc[p][o] = static_cast<std::int32_t>(sum[o]);
  }
}

void depthwise_generic(const std::int16_t* window, const Segments& s, const std::int16_t* weights,
                       std::uint32_t channels, std::int32_t* acc) {
  for (std::uint32_t t = 0; t < s.count; t++) {
    const std::int16_t *in = window + s.offset[t], *w = weights + std::uint64_t{t} * channels;
    for (std::uint32_t i = 0; i < channels; i++)
      acc[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(acc[i]) +
                                         static_cast<std::uint32_t>(in[i] * w[i]));
  }
}

/// Accumulators of channels first .. first + n of one pixel to codes.
void finish_generic(const Conv& c, const Parameters& p, std::uint32_t first, std::uint32_t n,
                    const std::int32_t* acc, std::int8_t* out) {
  for (std::uint32_t i = 0; i < n; i++)
    out[i] = static_cast<std::int8_t>(requantise(wrapping_add(acc[i], p.bias[first + i]),
                                                 p.multiplier[first + i], c.out_zero, c.lowest,
                                                 c.highest, c.rounding));
}

std::int32_t dot_generic(const std::int16_t* x, const std::int8_t* w, std::uint32_t n) {
  std::uint32_t sum = 0;
  for (std::uint32_t i = 0; i < n; i++) sum += static_cast<std::uint32_t>(x[i] * w[i]);
  return static_cast<std::int32_t>(sum);
}

#if defined(LONGSHORE_SIM_AVX2)
LONGSHORE_SIM_AVX2 inline void multiply_pair(const std::int16_t* in, __m256i w0, __m256i w1,
                                             __m256i (&sum)[2]) {
  std::int32_t pair;
  std::memcpy(&pair, in, 4);
  const __m256i x = _mm256_set1_epi32(pair);
  sum[0] = _mm256_add_epi32(sum[0], _mm256_madd_epi16(x, w0));
  sum[1] = _mm256_add_epi32(sum[1], _mm256_madd_epi16(x, w1));
}

LONGSHORE_SIM_AVX2 inline __m256i wide_product(const std::int16_t* a, const std::int16_t* b) {
  const auto* pa = reinterpret_cast<const __m128i*>(a);
  const auto* pb = reinterpret_cast<const __m128i*>(b);
  return _mm256_mullo_epi32(_mm256_cvtepi16_epi32(_mm_loadu_si128(pa)),
                            _mm256_cvtepi16_epi32(_mm_loadu_si128(pb)));
}

LONGSHORE_SIM_AVX2 void block_avx2(const std::int16_t* const (&window)[pixel_block],
                                   const Segments& s, const std::int16_t* weights,
                                   std::int32_t (&acc)[pixel_block][lanes]) {
  __m256i sum[pixel_block][2];
  for (std::uint32_t p = 0; p < pixel_block; p++)
    for (int h = 0; h < 2; h++)
      sum[p][h] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(&acc[p][8 * h]));
  const auto* w = reinterpret_cast<const __m256i*>(weights);
  for (std::uint32_t segment = 0; segment < s.count; segment++) {
    const std::uint64_t offset = s.offset[segment];
    const std::int16_t *in0 = window[0] + offset, *in1 = window[1] + offset,
                       *in2 = window[2] + offset, *in3 = window[3] + offset;
    for (std::uint32_t k = 0; k < s.pairs; k++, w += 2) {
      const __m256i w0 = _mm256_loadu_si256(w), w1 = _mm256_loadu_si256(w + 1);
      multiply_pair(in0 + 2 * k, w0, w1, sum[0]);
      multiply_pair(in1 + 2 * k, w0, w1, sum[1]);
      multiply_pair(in2 + 2 * k, w0, w1, sum[2]);
      multiply_pair(in3 + 2 * k, w0, w1, sum[3]);
    }
  }
  for (std::uint32_t p = 0; p < pixel_block; p++)
    for (int h = 0; h < 2; h++)
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(&acc[p][8 * h]), sum[p][h]);
}

LONGSHORE_SIM_AVX2 void depthwise_avx2(const std::int16_t* window, const Segments& s,
                                       const std::int16_t* weights, std::uint32_t channels,
                                       std::int32_t* acc) {
  std::uint32_t i = 0;
  for (; i + 16 <= channels; i += 16) {
    auto* to = reinterpret_cast<__m256i*>(acc + i);
    __m256i sum0 = _mm256_loadu_si256(to), sum1 = _mm256_loadu_si256(to + 1);
    for (std::uint32_t t = 0; t < s.count; t++) {
      const std::int16_t *in = window + s.offset[t] + i,
                         *w = weights + std::uint64_t{t} * channels + i;
      sum0 = _mm256_add_epi32(sum0, wide_product(in, w));
      sum1 = _mm256_add_epi32(sum1, wide_product(in + 8, w + 8));
    }
    _mm256_storeu_si256(to, sum0);
    _mm256_storeu_si256(to + 1, sum1);
  }
  for (; i < channels; i++)
    for (std::uint32_t t = 0; t < s.count; t++)
      acc[i] = static_cast<std::int32_t>(
          static_cast<std::uint32_t>(acc[i]) +
          static_cast<std::uint32_t>(window[s.offset[t] + i] *
                                     weights[std::uint64_t{t} * channels + i]));
}

/// requantise in mode f32_even, eight at a time: the same float operations in the same order. The
/// conversion rounds half to even, as nearbyint does in the default rounding direction.
LONGSHORE_SIM_AVX2 void finish_avx2(const Conv& c, const Parameters& p, std::uint32_t first,
                                    std::uint32_t n, const std::int32_t* acc, std::int8_t* out) {
  std::uint32_t i = 0;
  if (c.rounding == Rounding::f32_even) {
    const __m256 low = _mm256_set1_ps(static_cast<float>(c.lowest - c.out_zero));
    const __m256 high = _mm256_set1_ps(static_cast<float>(c.highest - c.out_zero));
    const __m256i zero = _mm256_set1_epi32(c.out_zero);
    for (; i + 8 <= n; i += 8) {
      const __m256i sum = _mm256_add_epi32(
          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(acc + i)),
          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(&p.bias[first + i])));
      __m256 y = _mm256_mul_ps(_mm256_cvtepi32_ps(sum), _mm256_loadu_ps(&p.real[first + i]));
      y = _mm256_min_ps(_mm256_max_ps(y, low), high);
      const __m256i q = _mm256_add_epi32(_mm256_cvtps_epi32(y), zero);
      const __m128i words =
          _mm_packs_epi32(_mm256_castsi256_si128(q), _mm256_extracti128_si256(q, 1));
      _mm_storel_epi64(reinterpret_cast<__m128i*>(out + i), _mm_packs_epi16(words, words));
    }
  }
  finish_generic(c, p, first + i, n - i, acc + i, out + i);
}

LONGSHORE_SIM_AVX2 std::int32_t dot_avx2(const std::int16_t* x, const std::int8_t* w,
                                         std::uint32_t n) {
  __m256i sum = _mm256_setzero_si256();
  std::uint32_t i = 0;
  for (; i + 16 <= n; i += 16) {
    const __m256i wide =
        _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(w + i)));
    sum = _mm256_add_epi32(
        sum, _mm256_madd_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(x + i)), wide));
  }
  const __m128i four = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
  const __m128i two = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
  const __m128i one = _mm_add_epi32(two, _mm_shuffle_epi32(two, 0xb1));
  return wrapping_add(_mm_cvtsi128_si32(one), dot_generic(x + i, w + i, n - i));
}
#endif

}  // namespace

Status Parameters::read(const Conv& c, const std::byte* sram) {
  bias.resize(c.out_c);
  multiplier.resize(c.out_c);
  real.resize(c.out_c);
  for (std::uint32_t i = 0; i < c.out_c; i++) {
    ChannelParameters p;
    std::memcpy(static_cast<void*>(&p), sram + c.parameters + i * sizeof p, sizeof p);
    if (!std::isfinite(p.real))
      return Status::error(Code::bad_model,
                           "conv: the multiplier of channel %u is not a finite number", i);
    bias[i] = p.bias;
    real[i] = p.real;
    multiplier[i] = {p.real, p.fixed, std::clamp(p.exponent, -31, 30)};
  }
  return {};
}

ConvPath conv_path([[maybe_unused]] bool portable) {
#if defined(LONGSHORE_SIM_AVX2)
  if (!portable && __builtin_cpu_supports("avx2"))
    return {block_avx2, depthwise_avx2, finish_avx2, dot_avx2};
#endif
  return {block_generic, depthwise_generic, finish_generic, dot_generic};
}

}  // namespace longshore
