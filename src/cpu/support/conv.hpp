#pragma once
#include <cstring>
#include <optional>

#include "cpu/bind.hpp"
#include "cpu/support/phases.hpp"

namespace longshore::cpu {

/// The convolution of one or two spatial dims that the request is; nothing where its operands do
/// not fit together. Checks all dims that the kernels rely on, bias and residual included.
inline std::optional<ConvShape> bound_conv_shape(const BindRequest& r) {
  const Operand &x = r.input(0), &w = r.input(1), &bias = r.input(2), &residual = r.input(3),
                &y = r.output();
  if (!r.fixed() || !x.present() || !w.present() || !y.present() || r.inputs.size() > 4) return {};
  ConvShape s;
  if (!conv_shape(r.attributes, x.shape, w.shape, s).ok() || !(y.shape == s.out)) return {};
  if (x.shape.elements() == 0 || w.shape.elements() == 0 || y.shape.elements() == 0) return {};
  if (!planar(s.window)) return {};
  if (bias.present() && !(bias.shape == Shape{w.shape[0]})) return {};
  if (residual.present() && !(residual.shape == y.shape)) return {};
  return s;
}

/// For each stretch of outputs [p, p + n) of one row of the output plane inside [from, from +
/// count): f(place in the stretch, row, first column, n).
template <class F>
void for_each_row(const Window& w, std::int64_t from, std::int64_t count, F&& f) {
  for (std::int64_t done = 0; done < count;) {
    const std::int64_t row = (from + done) / w.out[2], column = (from + done) % w.out[2];
    const std::int64_t n = std::min(w.out[2] - column, count - done);
    f(done, row, column, n);
    done += n;
  }
}

/// memcpy whose short copies are inlined.
template <class T>
void copy_elements(T* to, const T* from, std::int64_t n) {
  constexpr std::int64_t step = 32 / sizeof(T);
  if (n < step) {
    for (std::int64_t i = 0; i < n; i++) to[i] = from[i];
    return;
  }
  std::int64_t i = 0;
  for (; i + step <= n; i += step) std::memcpy(to + i, from + i, step * sizeof(T));
  if (i < n) std::memcpy(to + n - step, from + n - step, step * sizeof(T));
}

/// The input plane as tap `tap` sees it: to[i] is its element for output pixel from + i.
template <class T>
void unfold(const Window& w, const T* plane, std::int64_t tap, std::int64_t from,
            std::int64_t count, T padding, T* to) {
  if (w.pointwise()) return copy_elements(to, plane + from, count);
  const std::int64_t row_shift = tap / w.kernel[2] * w.dilation[1] - w.begin[1];
  const std::int64_t tap_column = tap % w.kernel[2];
  const std::int64_t shift = tap_column * w.dilation[2] - w.begin[2], step = w.stride[2];
  const IndexRange inside = outputs_of_tap(w, 2, tap_column);
  for_each_row(w, from, count,
               [&](std::int64_t at, std::int64_t row, std::int64_t column, std::int64_t n) {
                 T* row_to = to + at - column;  // indexed by output column
                 const std::int64_t in_row = row * w.stride[1] + row_shift, end = column + n;
                 const bool outside = in_row < 0 || in_row >= w.in[1];
                 const std::int64_t first = outside ? end : std::clamp(inside.from, column, end);
                 const std::int64_t stop = outside ? end : std::clamp(inside.to, first, end);
                 for (std::int64_t i = column; i < first; i++) row_to[i] = padding;
                 const T* row_from = plane + in_row * w.in[2] + shift;
                 if (step == 1)
                   copy_elements(row_to + first, row_from + first, stop - first);
                 else
                   for (std::int64_t i = first; i < stop; i++) row_to[i] = row_from[i * step];
                 for (std::int64_t i = stop; i < end; i++) row_to[i] = padding;
               });
}

}  // namespace longshore::cpu
