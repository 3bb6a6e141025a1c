// The window functions: a sum of cosines over a number of points.
#pragma once
#include <cmath>
#include <numbers>

#include "ops/movement.hpp"

namespace longshore::ops {

/// The element type that output_datatype names; f32 by default.
inline DType window_type(const Attributes& a) {
  const std::int64_t dtype = a.integer("output_datatype", 1);
  return dtype > 0 && dtype < dtype_count && type_set::numbers.has(static_cast<DType>(dtype))
             ? static_cast<DType>(dtype)
             : DType::undefined;
}

inline void infer_cosine_window(InferContext& c) {
  const DType dtype = window_type(c.attributes());
  if (dtype == DType::undefined) c.fail("its output_datatype is no number type");
  const std::optional<Ints> size = c.integers(0);
  if (size && (size->size() != 1 || (*size)[0] < 0)) c.fail("its size must be one number >= 0");
  c.output(0, {dtype, Dims{size ? Dim((*size)[0]) : Dim()}});
}

/// w(n) = a0 - a1 cos(2 pi n / N) + a2 cos(4 pi n / N); N is the size, less 1 if not periodic.
inline Status eval_cosine_window(EvalContext& c, double a0, double a1, double a2) noexcept {
  if (c.input(0).elements() != 1)
    return Status::error(Code::bad_argument, "the size must be one number");
  const std::int64_t size = int_at(c.input(0), 0);
  if (size < 0)
    return Status::error(Code::bad_argument, "a size of %lld", static_cast<long long>(size));
  MutableView y;
  LONGSHORE_TRY(c.output(0, Shape{size}, y));
  const bool periodic = c.attributes.integer("periodic", 1) != 0;
  const double turn = 2 * std::numbers::pi /
                      static_cast<double>(std::max<std::int64_t>(1, periodic ? size : size - 1));
  visit_type(NumberTypes{}, y.dtype, [&]<class T>() {
    for (std::int64_t i = 0; i < size; i++) {
      const double x = turn * static_cast<double>(i);
      y.as<T>()[i] = static_cast<T>(size == 1 ? 1.0 : a0 - a1 * std::cos(x) + a2 * std::cos(2 * x));
    }
  });
  return {};
}

}  // namespace longshore::ops
