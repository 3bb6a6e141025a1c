// Shared by Softmax, LogSoftmax and Hardmax: one axis at a time.
#pragma once
#include "ops/elementwise.hpp"

namespace longshore::ops {

/// Before opset 13 all dims from `axis` on were one: flatten, work on rows, restore the dims.
void normalise_softmax(Node& n, int opset, Rewriter& r);

/// row(from, to, count, stride, T()) for each line along the axis (default: the last).
template <class F>
Status eval_rows(EvalContext& c, F&& row) noexcept {
  const TensorView& x = c.input(0);
  const Shape& dims = x.shape;
  const int axis = resolve_axis(c.attributes.integer("axis", -1), dims.rank);
  if (axis < 0 && dims.rank > 0)
    return Status::error(Code::bad_argument, "the axis is out of range for rank %d", dims.rank);
  MutableView y;
  LONGSHORE_TRY(c.output(0, dims, y));
  const std::int64_t count = dims.rank > 0 ? dims[axis] : 1;
  const std::int64_t outer = dims.rank > 0 ? dims.product(0, axis) : 1;
  const std::int64_t inner = dims.rank > 0 ? dims.product(axis + 1, dims.rank) : 1;
  const bool known = visit_type(FloatTypes{}, x.dtype, [&]<class T>() {
    for (std::int64_t o = 0; o < outer && count > 0; o++)
      for (std::int64_t i = 0; i < inner; i++) {
        const std::int64_t start = o * count * inner + i;
        row(x.as<T>() + start, y.as<T>() + start, count, inner);
      }
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
