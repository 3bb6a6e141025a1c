// Functions of whole rows, written once for all ISAs.
#pragma once
#include "cpu/rows.inner.hpp"
#include "cpu/vector.inner.hpp"

namespace longshore::cpu {
namespace {

void max_f32(const float* const* from, size_t taps, float* y, size_t n) {
  for (size_t i = 0; i < n; i += lanes) {
    const size_t left = n - i;
    const bool full = left >= lanes;
    V most = full ? load(from[0] + i) : load_some(from[0] + i, left);
    for (size_t t = 1; t < taps; t++)
      most = larger(most, full ? load(from[t] + i) : load_some(from[t] + i, left));
    if (full)
      store(y + i, most);
    else
      store_some(y + i, most, left);
  }
}

template <class T>
void max_codes(const T* const* from, size_t taps, T* y, size_t n) {
  size_t i = 0;
#if defined(__AVX2__)
  for (; i + 32 <= n; i += 32) {
    const auto at = [&](size_t t) {
      return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from[t] + i));
    };
    __m256i most = at(0);
    for (size_t t = 1; t < taps; t++)
      most = static_cast<T>(-1) < 0 ? _mm256_max_epi8(most, at(t)) : _mm256_max_epu8(most, at(t));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(y + i), most);
  }
#endif
  for (; i < n; i++) {
    T most = from[0][i];
    for (size_t t = 1; t < taps; t++) most = from[t][i] > most ? from[t][i] : most;
    y[i] = most;
  }
}

float sum_f32(const float* x, size_t n) {
  V a = all(0), b = all(0);
  size_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    a = add(a, load(x + i));
    b = add(b, load(x + i + lanes));
  }
  for (; i + lanes <= n; i += lanes) a = add(a, load(x + i));
  if (i < n) b = add(b, load_some(x + i, n - i));
  return sum(add(a, b));
}

void softmax(const float* x, float* y, size_t n) {
  if (n == 0) return;
  V most = all(x[0]);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) most = larger(most, load(x + i));
  float peak = greatest(most);
  if (peak != peak) peak = x[0];
  for (size_t k = 0; k < lanes; k++) {  // NaN that `greatest` may have passed over
    float each[lanes];
    store(each, most);
    if (each[k] != each[k]) peak = each[k];
  }
  for (; i < n; i++) peak = peak != peak || !(x[i] > peak || x[i] != x[i]) ? peak : x[i];
  const V shift = all(peak);
  V total = all(0);
  for (i = 0; i + lanes <= n; i += lanes) {
    const V e = exp(sub(load(x + i), shift));
    total = add(total, e);
    store(y + i, e);
  }
  float rest = 0;
  if (i < n) {
    float tail[lanes] = {};
    store(tail, exp(sub(load_some(x + i, n - i), shift)));
    for (size_t k = 0; i + k < n; k++) {
      rest += tail[k];
      y[i + k] = tail[k];
    }
  }
  const V factor = all(1.0f / (sum(total) + rest));
  for (i = 0; i + lanes <= n; i += lanes) store(y + i, mul(load(y + i), factor));
  if (i < n) store_some(y + i, mul(load_some(y + i, n - i), factor), n - i);
}

void layer_norm(const float* x, const float* scale, const float* bias, float epsilon, float* y,
                size_t n) {
  if (n == 0) return;
  const float mean = sum_f32(x, n) / static_cast<float>(n);
  const V shift = all(mean);
  V squares = all(0);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const V d = sub(load(x + i), shift);
    squares = fma(d, d, squares);
  }
  float total = sum(squares);
  for (size_t k = i; k < n; k++) total += (x[k] - mean) * (x[k] - mean);
  const float factor = 1.0f / __builtin_sqrtf(total / static_cast<float>(n) + epsilon);
  const V vf = all(factor);
  for (i = 0; i < n; i += lanes) {
    const size_t left = n - i;
    if (left >= lanes) {
      V v = mul(mul(sub(load(x + i), shift), vf), load(scale + i));
      if (bias) v = add(v, load(bias + i));
      store(y + i, v);
    } else {
      V v = mul(mul(sub(load_some(x + i, left), shift), vf), load_some(scale + i, left));
      if (bias) v = add(v, load_some(bias + i, left));
      store_some(y + i, v, left);
    }
  }
}

// erf by the rational formula 7.1.26 of Abramowitz and Stegun in t = 1 / (1 + p |z|).
V gelu_vector(V x) {
  const V z = mul(magnitude(x), all(0.70710678f)), one = all(1.0f);
  const V t = div(one, fma(all(0.3275911f), z, one));
  V p = fma(all(1.061405429f), t, all(-1.453152027f));
  p = fma(p, t, all(1.421413741f));
  p = fma(p, t, all(-0.284496736f));
  p = fma(p, t, all(0.254829592f));
  // The part of the normal distribution beyond |x|: half of 1 - erf.
  const V beyond = mul(mul(mul(p, t), exp(sub(all(0.0f), mul(z, z)))), all(0.5f));
  const V upper = where_greater(x, all(0.0f), sub(one, beyond), beyond);
  return mul(x, upper);
}

void gelu(const float* x, float* y, size_t n) {
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) store(y + i, gelu_vector(load(x + i)));
  if (i < n) store_some(y + i, gelu_vector(load_some(x + i, n - i)), n - i);
}

constexpr Rows rows = {max_f32, max_codes<int8_t>, max_codes<uint8_t>, sum_f32, softmax, layer_norm,
                       gelu};

}  // namespace
}  // namespace longshore::cpu
