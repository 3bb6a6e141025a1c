// The inner loops of element-wise f32 operators, written once for all ISAs.
#pragma once
#include "cpu/eltwise_f32.inner.hpp"
#include "cpu/vector.inner.hpp"

namespace longshore::cpu {
namespace {

template <V (*f)(V, V)>
void binary(const float* a, size_t step_a, const float* b, size_t step_b, float* y, size_t n) {
  const V first_a = all(n > 0 ? a[0] : 0), first_b = all(n > 0 ? b[0] : 0);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes)
    store(y + i, f(step_a ? load(a + i) : first_a, step_b ? load(b + i) : first_b));
  if (i < n) {
    const size_t left = n - i;
    store_some(
        y + i,
        f(step_a ? load_some(a + i, left) : first_a, step_b ? load_some(b + i, left) : first_b),
        left);
  }
}

template <V (*f)(V, V, V)>
void unary(const float* x, float* y, size_t n, float p, float q) {
  const V vp = all(p), vq = all(q);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) store(y + i, f(load(x + i), vp, vq));
  if (i < n) store_some(y + i, f(load_some(x + i, n - i), vp, vq), n - i);
}

V add_(V a, V b) { return add(a, b); }
V sub_(V a, V b) { return sub(a, b); }
V mul_(V a, V b) { return mul(a, b); }
V div_(V a, V b) { return div(a, b); }
V relu(V x, V, V) { return max(all(0.0f), x); }
V clip(V x, V low, V high) { return min(high, max(low, x)); }
V leaky_relu(V x, V p, V) { return where_greater(all(0.0f), x, mul(x, p), x); }
V sigmoid_(V x, V, V) { return sigmoid(x); }
V silu(V x, V, V) { return mul(x, sigmoid(x)); }
V exp_(V x, V, V) { return exp(x); }
// Near 0 the quotient loses digits, so the series x - x^3/3 + 2x^5/15 - 17x^7/315 serves there.
V tanh_(V x, V, V) {
  const V e = exp(mul(all(2.0f), x)), one = all(1.0f);
  const V far = sub(one, div(all(2.0f), add(e, one)));
  const V s = mul(x, x);
  V p = fma(s, all(62.0f / 2835), all(-17.0f / 315));
  p = fma(p, s, all(2.0f / 15));
  p = fma(p, s, all(-1.0f / 3));
  const V near = fma(mul(p, s), x, x);
  return where_greater(all(0.25f), magnitude(x), near, far);
}
V hard_sigmoid(V x, V p, V q) { return min(all(1.0f), max(all(0.0f), add(mul(x, p), q))); }
V hard_swish(V x, V, V) {
  return mul(x, min(all(1.0f), max(all(0.0f), add(mul(x, all(1.0f / 6)), all(0.5f)))));
}

constexpr EltwiseF32 eltwise_f32 = {
    binary<add_>, binary<sub_>,        binary<mul_>,     binary<div_>, unary<relu>,
    unary<clip>,  unary<leaky_relu>,   unary<sigmoid_>,  unary<silu>,  unary<tanh_>,
    unary<exp_>,  unary<hard_sigmoid>, unary<hard_swish>};

}  // namespace
}  // namespace longshore::cpu
