// Shared by Softmax, LogSoftmax and Hardmax: one axis at a time.
#pragma once
#include "ops/elementwise.hpp"

namespace longshore::ops {

/// Before opset 13 all dims from `axis` on were one: flatten, work on rows, restore the dims.
void normalise_softmax(Node& n, int opset, Rewriter& r);

/// The lines of a tensor along one axis: `count` elements, `inner` apart.
struct Lines {
  std::int64_t count = 1, outer = 1, inner = 1;
  Lines(const Shape& dims, int axis) noexcept {
    if (dims.rank == 0) return;
    count = dims[axis];
    outer = dims.product(0, axis);
    inner = dims.product(axis + 1, dims.rank);
  }
  /// visit(number of the first element) of each line that has any.
  template <class F>
  void each(F&& visit) const noexcept {
    for (std::int64_t o = 0; o < outer && count > 0; o++)
      for (std::int64_t i = 0; i < inner; i++) visit(o * count * inner + i);
  }
};

Status axis_out_of_range(int rank) noexcept;

/// row(from, to, count, stride, T()) for each line along the axis (default: the last).
template <class F>
Status eval_rows(EvalContext& c, F&& row) noexcept {
  const TensorView& x = c.input(0);
  const int axis = resolve_axis(c.attributes.integer("axis", -1), x.shape.rank);
  if (axis < 0 && x.shape.rank > 0) return axis_out_of_range(x.shape.rank);
  MutableView y;
  LONGSHORE_TRY(c.output(0, x.shape, y));
  const Lines lines(x.shape, axis);
  const bool known = visit_type(FloatTypes{}, x.dtype, [&]<class T>() {
    lines.each([&](std::int64_t start) {
      row(x.as<T>() + start, y.as<T>() + start, lines.count, lines.inner);
    });
  });
  return known ? Status{} : wrong_type(x.dtype);
}

void infer_rows(InferContext& c);

/// The largest of a row; NaN where any is NaN.
template <class T>
Compute<T> row_maximum(const T* from, std::int64_t count, std::int64_t stride) {
  auto most = static_cast<Compute<T>>(from[0]);
  for (std::int64_t i = 1; i < count; i++)
    most = larger(most, static_cast<Compute<T>>(from[i * stride]));
  return most;
}
/// The sum of exp(x - most) over a row, in double.
template <class T>
double row_exponentials(const T* from, std::int64_t count, std::int64_t stride, Compute<T> most) {
  double sum = 0;
  for (std::int64_t i = 0; i < count; i++)
    sum += std::exp(static_cast<Compute<T>>(from[i * stride]) - most);
  return sum;
}

}  // namespace longshore::ops
