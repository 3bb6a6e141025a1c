// Shared by ArgMax and ArgMin.
#pragma once
#include "ops/elementwise.hpp"

namespace longshore::ops {

inline void infer_arg(InferContext& c) {
  const TensorType x = c.input(0);
  if (!x.ranked) return c.output(0, TensorType::unranked(DType::i64));
  const int axis = resolve_axis(c.attributes().integer("axis"), x.rank());
  if (axis < 0) c.fail("its axis is out of range for " + print(x));
  TensorType y(DType::i64, x.dims);
  if (c.attributes().integer("keepdims", 1) != 0)
    y.dims[static_cast<std::size_t>(axis)] = Dim(1);
  else
    y.dims.erase(y.dims.begin() + axis);
  c.output(0, y);
}

/// The index of the element that no other beats; NaN beats every number, as in numpy.
template <auto beats>
Status eval_arg(EvalContext& c) noexcept {
  const TensorView& x = c.input(0);
  const int axis = resolve_axis(c.attributes.integer("axis"), x.shape.rank);
  if (axis < 0)
    return Status::error(Code::bad_argument, "the axis is out of range for rank %d", x.shape.rank);
  const bool keepdims = c.attributes.integer("keepdims", 1) != 0;
  const bool last = c.attributes.integer("select_last_index") != 0;
  Shape dims;
  for (int i = 0; i < x.shape.rank; i++)
    if (i != axis)
      dims.push(x.shape[i]);
    else if (keepdims)
      dims.push(1);
  MutableView y;
  LONGSHORE_TRY(c.output(0, dims, y));
  const std::int64_t count = x.shape[axis], inner = x.shape.product(axis + 1, x.shape.rank);
  if (count == 0 && y.elements() > 0)
    return Status::error(Code::bad_argument, "there is no largest or smallest of nothing");
  const bool known = visit_type(NumberTypes{}, x.dtype, [&]<class T>() {
    for (std::int64_t i = 0, n = y.elements(); i < n; i++) {
      const T* from = x.as<T>() + i / inner * count * inner + i % inner;
      const auto wins = [](Compute<T> a, Compute<T> b) { return a != a ? b == b : beats(a, b); };
      std::int64_t best = 0;
      for (std::int64_t k = 1; k < count; k++) {
        const auto value = static_cast<Compute<T>>(from[k * inner]),
                   champion = static_cast<Compute<T>>(from[best * inner]);
        if (last ? !wins(champion, value) : wins(value, champion)) best = k;
      }
      y.as<std::int64_t>()[i] = best;
    }
  });
  return known ? Status{} : wrong_type(x.dtype);
}

}  // namespace longshore::ops
