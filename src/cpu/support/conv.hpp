#pragma once
#include <cstring>

#include "cpu/support/window.hpp"

namespace longshore::cpu {

/// A convolution as the kernels see it: X [N, groups * group_in, ...], W [groups * group_out,
/// group_in, kernel].
struct ConvShape {
  Window window;
  std::int64_t batch = 0, groups = 1, group_in = 0, group_out = 0;
  std::int64_t depth() const { return group_in * window.taps(); }
  std::int64_t channels_out() const { return groups * group_out; }
  bool depthwise() const { return group_in == 1 && group_out == 1; }
};

/// Nothing where the operands do not fit together; checks all dims that the kernels rely on,
/// bias and residual included.
inline std::optional<ConvShape> conv_shape(const BindRequest& r) {
  const Operand &x = r.input(0), &w = r.input(1), &bias = r.input(2), &residual = r.input(3),
                &y = r.output();
  if (!r.fixed() || !x.present() || !w.present() || !y.present() || r.inputs.size() > 4) return {};
  if (x.shape.rank != w.shape.rank || x.shape.rank != y.shape.rank || x.shape.rank < 3) return {};
  ConvShape s;
  s.groups = r.attributes.integer("group", 1);
  if (s.groups < 1 || w.shape[0] % s.groups != 0 || w.shape[1] * s.groups != x.shape[1]) return {};
  s.batch = x.shape[0];
  s.group_in = w.shape[1];
  s.group_out = w.shape[0] / s.groups;
  if (y.shape[0] != s.batch || y.shape[1] != w.shape[0] || s.group_in < 1 || s.group_out < 1 ||
      s.batch < 1)
    return {};
  const std::optional<Window> window =
      make_window(r.attributes, x.shape, y.shape,
                  std::span(w.shape.dims + 2, static_cast<std::size_t>(w.shape.rank - 2)));
  if (!window) return {};
  s.window = *window;
  if (bias.present() && !(bias.shape == Shape{w.shape[0]})) return {};
  if (residual.present() && !(residual.shape == y.shape)) return {};
  return s;
}

/// For each stretch of outputs [p, p + n) of one row of the output plane inside [from, from +
/// count): f(place in the stretch, row, first column, n).
template <class F>
void for_each_row(const Window& w, std::int64_t from, std::int64_t count, F&& f) {
  for (std::int64_t done = 0; done < count;) {
    const std::int64_t row = (from + done) / w.columns.out, column = (from + done) % w.columns.out;
    const std::int64_t n = std::min(w.columns.out - column, count - done);
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
  const std::int64_t row_shift = tap / w.columns.kernel * w.rows.dilation - w.rows.begin;
  const std::int64_t tap_column = tap % w.columns.kernel;
  const std::int64_t shift = tap_column * w.columns.dilation - w.columns.begin,
                     step = w.columns.stride;
  const Span inside = w.columns.outputs_of_tap(tap_column);
  for_each_row(w, from, count,
               [&](std::int64_t at, std::int64_t row, std::int64_t column, std::int64_t n) {
                 T* row_to = to + at - column;  // indexed by output column
                 const std::int64_t in_row = row * w.rows.stride + row_shift, end = column + n;
                 const bool outside = in_row < 0 || in_row >= w.rows.in;
                 const std::int64_t first = outside ? end : std::clamp(inside.from, column, end);
                 const std::int64_t stop = outside ? end : std::clamp(inside.to, first, end);
                 for (std::int64_t i = column; i < first; i++) row_to[i] = padding;
                 const T* row_from = plane + in_row * w.columns.in + shift;
                 if (step == 1)
                   copy_elements(row_to + first, row_from + first, stop - first);
                 else
                   for (std::int64_t i = first; i < stop; i++) row_to[i] = row_from[i * step];
                 for (std::int64_t i = stop; i < end; i++) row_to[i] = padding;
               });
}

}  // namespace longshore::cpu
