// What the pools share: windows over N, C, spatial dims, and global pools.
#pragma once
#include <cmath>

#include "ir/quantised.hpp"
#include "ops/window.hpp"
#include "tensor/quant.hpp"

namespace longshore::ops {

/// The window of a pool, whose kernel is an attribute.
Status pool_window(const Attributes& a, const Shape& x, Window& w) noexcept;

void infer_pool(InferContext& c);

void pool_facts(const NodeTypes& n, Facts& facts);

/// The form of a pool: "max" or "average" over its windows.
FormSpec pool_form(const NodeTypes& n, std::string_view function);

/// Calls f(output index in the plane, taps of each axis inside [0, in)) for one plane.
template <class F>
void for_each_window(const Window& w, F&& f) {
  std::int64_t at = 0;
  for (std::int64_t d = 0; d < w.out[0]; d++)
    for (std::int64_t h = 0; h < w.out[1]; h++)
      for (std::int64_t i = 0; i < w.out[2]; i++, at++) {
        const std::int64_t o[3] = {d, h, i};
        IndexRange taps[3];
        for (int a = 0; a < 3; a++) taps[a] = taps_of_output(w, a, o[a], 0, w.in[a]);
        f(at, o, taps);
      }
}

/// Calls f(index into the input plane) for each tap of output `o` that lies inside the input.
template <class F>
void for_each_tap(const Window& w, const std::int64_t (&o)[3], const IndexRange (&taps)[3], F&& f) {
  const auto at = [&](int a, std::int64_t k) {
    return o[a] * w.stride[a] - w.begin[a] + k * w.dilation[a];
  };
  for (std::int64_t d = taps[0].from; d < taps[0].to; d++)
    for (std::int64_t h = taps[1].from; h < taps[1].to; h++)
      for (std::int64_t i = taps[2].from; i < taps[2].to; i++)
        f((at(0, d) * w.in[1] + at(1, h)) * w.in[2] + at(2, i));
}

/// The number that an average divides by: the taps inside the input, or, counting the padding,
/// inside the padded input (but never beyond it, where ceil_mode reaches).
inline std::int64_t average_count(const Window& w, const std::int64_t (&o)[3],
                                  const IndexRange (&taps)[3], bool padding) {
  std::int64_t n = 1;
  for (int a = 0; a < 3; a++) {
    const IndexRange r =
        padding ? taps_of_output(w, a, o[a], -w.begin[a], w.in[a] + w.end[a]) : taps[a];
    n *= std::max<std::int64_t>(0, r.to - r.from);
  }
  return n;
}

/// N, C, 1, 1, ... for a global pool.
void infer_global_pool(InferContext& c);
Shape global_pool_shape(const Shape& x);
void global_pool_facts(const NodeTypes& n, Facts& facts);

/// y[p] = Reduce<T>(c).add(every element of plane p).done(their number), in the compute type.
template <template <class> class Reduce>
Status eval_global_pool(EvalContext& c) noexcept {
  const TensorView& x = c.input(0);
  MutableView y;
  LONGSHORE_TRY(c.output(0, global_pool_shape(x.shape), y));
  const std::int64_t planes = y.elements(), area = x.shape.product(2, x.shape.rank);
  visit_type(FloatTypes{}, x.dtype, [&]<class T>() {
    for (std::int64_t p = 0; p < planes; p++) {
      Reduce<Compute<T>> reduce(c.attributes);
      for (std::int64_t i = 0; i < area; i++)
        reduce.add(static_cast<Compute<T>>(x.as<T>()[p * area + i]));
      y.as<T>()[p] = static_cast<T>(reduce.done(area));
    }
  });
  return {};
}

/// x to the power p, and its inverse, for the Lp pools.
inline double lp_term(double x, std::int64_t p) {
  return std::pow(std::fabs(x), static_cast<double>(p));
}
inline double lp_root(double sum, std::int64_t p) {
  return std::pow(sum, 1.0 / static_cast<double>(p));
}

inline constexpr Types pool_types = type_set::float_types;

}  // namespace longshore::ops
