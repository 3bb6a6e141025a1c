// The integer epilogues of tensor/requantise.hpp for whole rows, written once for all ISAs. Every
// operation is one IEEE operation in the order of the scalar definition, so the bytes are equal.
#pragma once
#include "cpu/requantise.inner.hpp"
#include "cpu/vector.inner.hpp"

namespace longshore::cpu {
namespace {

#if defined(__AVX512F__)
LONGSHORE_INLINE I load_codes(const void* p, size_t i, bool is_signed) {
  const __m128i bytes =
      _mm_loadu_si128(reinterpret_cast<const __m128i*>(static_cast<const char*>(p) + i));
  return is_signed ? _mm512_cvtepi8_epi32(bytes) : _mm512_cvtepu8_epi32(bytes);
}
LONGSHORE_INLINE void store_codes(void* p, size_t i, I v) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(static_cast<char*>(p) + i), _mm512_cvtepi32_epi8(v));
}
LONGSHORE_INLINE I load_ints(const int32_t* p) { return _mm512_loadu_si512(p); }
LONGSHORE_INLINE I int_all(int32_t x) { return _mm512_set1_epi32(x); }
LONGSHORE_INLINE I int_add(I a, I b) { return _mm512_add_epi32(a, b); }
LONGSHORE_INLINE I int_mul(I a, I b) { return _mm512_mullo_epi32(a, b); }
/// Rounds half to even, as a float, so that what does not fit an int can be clamped first.
LONGSHORE_INLINE V round_even(V x) {
  return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
LONGSHORE_INLINE V zero_for_nan(V x) {
  return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, x, _CMP_ORD_Q), x);
}
#elif defined(__AVX2__)
LONGSHORE_INLINE I load_codes(const void* p, size_t i, bool is_signed) {
  const __m128i bytes =
      _mm_loadl_epi64(reinterpret_cast<const __m128i*>(static_cast<const char*>(p) + i));
  return is_signed ? _mm256_cvtepi8_epi32(bytes) : _mm256_cvtepu8_epi32(bytes);
}
LONGSHORE_INLINE void store_codes(void* p, size_t i, I v) {
  const __m256i low_bytes = _mm256_shuffle_epi8(
      v, _mm256_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 4, 8, 12,
                          -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(static_cast<char*>(p) + i),
                   _mm_unpacklo_epi32(_mm256_castsi256_si128(low_bytes),
                                      _mm256_extracti128_si256(low_bytes, 1)));
}
LONGSHORE_INLINE I load_ints(const int32_t* p) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}
LONGSHORE_INLINE I int_all(int32_t x) { return _mm256_set1_epi32(x); }
LONGSHORE_INLINE I int_add(I a, I b) { return _mm256_add_epi32(a, b); }
LONGSHORE_INLINE I int_mul(I a, I b) { return _mm256_mullo_epi32(a, b); }
LONGSHORE_INLINE V round_even(V x) {
  return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
LONGSHORE_INLINE V zero_for_nan(V x) { return _mm256_and_ps(x, _mm256_cmp_ps(x, x, _CMP_ORD_Q)); }
#else
LONGSHORE_INLINE I load_codes(const void* p, size_t i, bool is_signed) {
  I v;
  for (size_t k = 0; k < lanes; k++)
    v[k] = is_signed ? static_cast<int32_t>(static_cast<const int8_t*>(p)[i + k])
                     : static_cast<int32_t>(static_cast<const uint8_t*>(p)[i + k]);
  return v;
}
LONGSHORE_INLINE void store_codes(void* p, size_t i, I v) {
  for (size_t k = 0; k < lanes; k++) static_cast<uint8_t*>(p)[i + k] = static_cast<uint8_t>(v[k]);
}
LONGSHORE_INLINE I load_ints(const int32_t* p) {
  I v;
  memcpy(&v, p, sizeof v);
  return v;
}
LONGSHORE_INLINE I int_all(int32_t x) { return I{x, x, x, x}; }
LONGSHORE_INLINE I int_add(I a, I b) {
  typedef uint32_t U __attribute__((vector_size(16)));  // sums wrap around
  return reinterpret_cast<I>(reinterpret_cast<U>(a) + reinterpret_cast<U>(b));
}
LONGSHORE_INLINE I int_mul(I a, I b) { return a * b; }
LONGSHORE_INLINE V round_even(V x) {
  for (size_t k = 0; k < lanes; k++) x[k] = __builtin_nearbyintf(x[k]);
  return x;
}
LONGSHORE_INLINE V zero_for_nan(V x) {
  for (size_t k = 0; k < lanes; k++) x[k] = x[k] == x[k] ? x[k] : 0;
  return x;
}
#endif

/// Of a number that is already whole and small.
LONGSHORE_INLINE I to_int(V x) {
#if defined(__AVX2__)
  return nearest(x);
#else
  return __builtin_convertvector(x, I);
#endif
}

LONGSHORE_INLINE I requantise_vector(I sums, V real, V low, V high, I zero_point) {
  V y = mul(to_float(sums), real);
  y = min(high, max(low, y));
  return int_add(to_int(round_even(y)), zero_point);
}

void requantise_row(const RequantiseRow& r) {
  const V low = all(static_cast<float>(r.lowest - r.zero_point)),
          high = all(static_cast<float>(r.highest - r.zero_point));
  const I zero_point = int_all(r.zero_point);
  const I add_all = int_all(r.add[0]);
  const V real_all = all(r.real[0]);
  size_t i = 0;
  for (; i + lanes <= r.n; i += lanes)
    store_codes(
        r.codes, i,
        requantise_vector(int_add(load_ints(r.sums + i), r.step ? load_ints(r.add + i) : add_all),
                          r.step ? load(r.real + i) : real_all, low, high, zero_point));
  if (i < r.n) {
    int32_t sums[lanes] = {}, add[lanes] = {};
    float real[lanes] = {};
    uint8_t codes[lanes];
    for (size_t k = 0; i + k < r.n; k++) {
      sums[k] = r.sums[i + k];
      add[k] = r.add[r.step ? i + k : 0];
      real[k] = r.real[r.step ? i + k : 0];
    }
    store_codes(codes, 0,
                requantise_vector(int_add(load_ints(sums), load_ints(add)), load(real), low, high,
                                  zero_point));
    for (size_t k = 0; i + k < r.n; k++) static_cast<uint8_t*>(r.codes)[i + k] = codes[k];
  }
}

LONGSHORE_INLINE V dequantise_vector(const CodesI8& c, size_t i) {
  const I q =
      c.step ? load_codes(c.codes, i, c.is_signed)
             : int_all(c.is_signed ? static_cast<int32_t>(*static_cast<const int8_t*>(c.codes))
                                   : static_cast<int32_t>(*static_cast<const uint8_t*>(c.codes)));
  return mul(to_float(sub_int(q, int_all(c.zero_point))), all(c.scale));
}

/// quantise() of tensor/requantise.hpp: the quotient rounds first, then is clamped and moved.
LONGSHORE_INLINE I quantise_vector(V x, V scale, V low, V high, I zero_point) {
  V q = round_even(div(x, scale));
  q = zero_for_nan(q);
  q = min(high, max(low, q));
  return int_add(to_int(q), zero_point);
}

/// The last, incomplete vector goes through copies, so that nothing is read or written beyond the
/// end.
struct TailI8 {
  uint8_t bytes[lanes] = {};
  void fill(const CodesI8& c, size_t i, size_t n) {
    for (size_t k = 0; k < n; k++)
      bytes[k] = static_cast<const uint8_t*>(c.codes)[c.step ? i + k : 0];
  }
};

template <V (*f)(V, V)>
void binary_row(const BinaryRowI8& r) {
  const V scale = all(r.scale), low = all(static_cast<float>(r.lowest - r.zero_point)),
          high = all(static_cast<float>(r.highest - r.zero_point));
  const I zero_point = int_all(r.zero_point);
  size_t i = 0;
  for (; i + lanes <= r.n; i += lanes)
    store_codes(r.codes, i,
                quantise_vector(f(dequantise_vector(r.a, i), dequantise_vector(r.b, i)), scale, low,
                                high, zero_point));
  if (i < r.n) {
    TailI8 a, b, codes;
    a.fill(r.a, i, r.n - i);
    b.fill(r.b, i, r.n - i);
    const CodesI8 in_a = {a.bytes, 1, r.a.is_signed, r.a.zero_point, r.a.scale};
    const CodesI8 in_b = {b.bytes, 1, r.b.is_signed, r.b.zero_point, r.b.scale};
    store_codes(codes.bytes, 0,
                quantise_vector(f(dequantise_vector(in_a, 0), dequantise_vector(in_b, 0)), scale,
                                low, high, zero_point));
    for (size_t k = 0; i + k < r.n; k++) static_cast<uint8_t*>(r.codes)[i + k] = codes.bytes[k];
  }
}

void quantise_row(const QuantiseRow& r) {
  const V scale = all(r.scale), low = all(static_cast<float>(r.lowest - r.zero_point)),
          high = all(static_cast<float>(r.highest - r.zero_point));
  const I zero_point = int_all(r.zero_point);
  size_t i = 0;
  for (; i + lanes <= r.n; i += lanes)
    store_codes(r.codes, i, quantise_vector(load(r.x + i), scale, low, high, zero_point));
  if (i < r.n) {
    TailI8 codes;
    store_codes(codes.bytes, 0,
                quantise_vector(load_some(r.x + i, r.n - i), scale, low, high, zero_point));
    for (size_t k = 0; i + k < r.n; k++) static_cast<uint8_t*>(r.codes)[i + k] = codes.bytes[k];
  }
}

void dequantise_row(const DequantiseRow& r) {
  size_t i = 0;
  for (; i + lanes <= r.n; i += lanes) store(r.y + i, dequantise_vector(r.x, i));
  if (i < r.n) {
    TailI8 x;
    x.fill(r.x, i, r.n - i);
    const CodesI8 in = {x.bytes, 1, r.x.is_signed, r.x.zero_point, r.x.scale};
    store_some(r.y + i, dequantise_vector(in, 0), r.n - i);
  }
}

LONGSHORE_INLINE int64_t sum_ints(I v) {
  int32_t each[lanes];
  memcpy(each, &v, sizeof v);
  int64_t total = 0;
  for (size_t k = 0; k < lanes; k++) total += each[k];
  return total;
}

/// A lane adds at most 16384 squares of at most 255 * 255.
void moments(const CodesI8& x, size_t n, int64_t* sum, int64_t* squares) {
  const I zero_point = int_all(x.zero_point);
  I sums = int_all(0), products = int_all(0);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const I d = sub_int(load_codes(x.codes, i, x.is_signed), zero_point);
    sums = int_add(sums, d);
    products = int_add(products, int_mul(d, d));
  }
  int64_t total = sum_ints(sums), total_squares = sum_ints(products);
  for (; i < n; i++) {
    const int32_t d =
        (x.is_signed ? static_cast<int32_t>(static_cast<const int8_t*>(x.codes)[i])
                     : static_cast<int32_t>(static_cast<const uint8_t*>(x.codes)[i])) -
        x.zero_point;
    total += d;
    total_squares += d * d;
  }
  *sum = total;
  *squares = total_squares;
}

void norm_row(const NormRowI8& r) {
  const V scale = all(r.out_scale), low = all(static_cast<float>(r.lowest - r.zero_point)),
          high = all(static_cast<float>(r.highest - r.zero_point)), factor = all(r.factor);
  const I zero_point = int_all(r.zero_point), less = int_all(r.less), times = int_all(r.times),
          in_zero = int_all(r.x.zero_point);
  const auto codes = [&](I q, V by, V bias) {
    const I d = sub_int(int_mul(sub_int(q, in_zero), times), less);
    V y = mul(mul(to_float(d), factor), by);
    if (r.bias) y = add(y, bias);
    return quantise_vector(y, scale, low, high, zero_point);
  };
  size_t i = 0;
  for (; i + lanes <= r.n; i += lanes)
    store_codes(r.codes, i,
                codes(load_codes(r.x.codes, i, r.x.is_signed), load(r.scale + i),
                      r.bias ? load(r.bias + i) : factor));
  if (i < r.n) {
    const size_t left = r.n - i;
    TailI8 x, y;
    x.fill(r.x, i, left);
    store_codes(y.bytes, 0,
                codes(load_codes(x.bytes, 0, r.x.is_signed), load_some(r.scale + i, left),
                      r.bias ? load_some(r.bias + i, left) : factor));
    for (size_t k = 0; k < left; k++) static_cast<uint8_t*>(r.codes)[i + k] = y.bytes[k];
  }
}

V add_codes(V a, V b) { return add(a, b); }
V sub_codes(V a, V b) { return sub(a, b); }
V mul_codes(V a, V b) { return mul(a, b); }
V div_codes(V a, V b) { return div(a, b); }

constexpr Requantise requantise_functions = {requantise_row,
                                             binary_row<add_codes>,
                                             binary_row<sub_codes>,
                                             binary_row<mul_codes>,
                                             binary_row<div_codes>,
                                             quantise_row,
                                             dequantise_row,
                                             moments,
                                             norm_row};

}  // namespace
}  // namespace longshore::cpu
