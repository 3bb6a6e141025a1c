// Shared by CumSum and CumProd.
#pragma once
#include "ops/elementwise.hpp"
#include "tensor/convert.hpp"

namespace longshore::ops {

/// y[i] = f(f(start, x[0]), ... x[i]) along an axis; `exclusive` leaves x[i] out, `reverse` begins
/// at the end. Half types accumulate in float.
template <auto start, auto f>
Status eval_cumulative(EvalContext& c) noexcept {
  const TensorView &x = c.input(0), &axis_input = c.input(1);
  if (axis_input.elements() != 1)
    return Status::error(Code::bad_argument, "the axis must be one number");
  const int axis = resolve_axis(load_integer(axis_input, 0), x.shape.rank);
  if (axis < 0)
    return Status::error(Code::bad_argument, "the axis is out of range for rank %d", x.shape.rank);
  const bool exclusive = c.attributes.integer("exclusive") != 0,
             reverse = c.attributes.integer("reverse") != 0;
  MutableView y;
  LONGSHORE_TRY(c.output(0, x.shape, y));
  const std::int64_t count = x.shape[axis], inner = x.shape.product(axis + 1, x.shape.rank);
  const std::int64_t outer = x.shape.product(0, axis);
  using List = TypeList<float, double, Float16, BFloat16, std::int32_t, std::int64_t, std::uint32_t,
                        std::uint64_t>;
  const bool known = visit_type(List{}, x.dtype, [&]<class T>() {
    for (std::int64_t o = 0; o < outer; o++)
      for (std::int64_t i = 0; i < inner; i++) {
        auto total = static_cast<Compute<T>>(start);
        for (std::int64_t k = 0; k < count; k++) {
          const std::int64_t at = (o * count + (reverse ? count - 1 - k : k)) * inner + i;
          const auto value = static_cast<Compute<T>>(x.as<T>()[at]);
          if (exclusive) y.as<T>()[at] = static_cast<T>(total);
          total = f(total, value);
          if (!exclusive) y.as<T>()[at] = static_cast<T>(total);
        }
      }
  });
  return known ? Status{} : wrong_type(x.dtype);
}

}  // namespace longshore::ops
