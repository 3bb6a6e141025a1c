#include <cmath>

#include "ops/movement.hpp"

namespace longshore::ops::op_range {
namespace {

using Types = TypeList<float, double, Float16, BFloat16, std::int16_t, std::int32_t, std::int64_t>;

/// max(ceil((limit - start) / delta), 0); -1 where delta is 0 or the number is beyond all bounds.
template <class T>
std::int64_t count(T start, T limit, T delta) {
  if (delta == 0) return -1;
  if constexpr (std::is_integral_v<T>) {
    if (delta > 0 ? start >= limit : start <= limit) return 0;
    const auto low =
        static_cast<std::uint64_t>(static_cast<std::int64_t>(delta > 0 ? start : limit));
    const auto high =
        static_cast<std::uint64_t>(static_cast<std::int64_t>(delta > 0 ? limit : start));
    const auto wide = static_cast<std::uint64_t>(static_cast<std::int64_t>(delta));
    const std::uint64_t step = delta > 0 ? wide : 0 - wide, n = (high - low - 1) / step + 1;
    return n > std::uint64_t{1} << 40 ? -1 : static_cast<std::int64_t>(n);
  } else {
    const double n = std::ceil((static_cast<double>(limit) - static_cast<double>(start)) /
                               static_cast<double>(delta));
    return !(n <= 1e12) ? -1 : n > 0 ? static_cast<std::int64_t>(n) : 0;
  }
}

void infer(InferContext& c) {
  const DType dtype = c.input(0).dtype;
  c.output(0, unknown_dims(dtype, 1));
  const Tensor *start = c.constant(0), *limit = c.constant(1), *delta = c.constant(2);
  if (!start || !limit || !delta || start->elements() != 1 || limit->elements() != 1 ||
      delta->elements() != 1)
    return;
  visit_type(Types{}, dtype, [&]<class T>() {
    using C = Compute<T>;
    const std::int64_t n =
        count(static_cast<C>(start->values<T>()[0]), static_cast<C>(limit->values<T>()[0]),
              static_cast<C>(delta->values<T>()[0]));
    if (n < 0) c.fail("its delta is 0 or it has too many elements");
    c.output(0, {dtype, Shape{n}});
  });
}

Status eval(EvalContext& c) noexcept {
  for (std::size_t i = 0; i < 3; i++)
    if (c.input(i).elements() != 1)
      return Status::error(Code::bad_argument, "start, limit and delta must be scalars");
  Status status;
  visit_type(Types{}, c.input(0).dtype, [&]<class T>() {
    using C = Compute<T>;
    const auto start = static_cast<C>(c.input(0).as<T>()[0]),
               limit = static_cast<C>(c.input(1).as<T>()[0]),
               delta = static_cast<C>(c.input(2).as<T>()[0]);
    const std::int64_t n = count(start, limit, delta);
    if (n < 0) {
      status = Status::error(Code::bad_argument, "delta is 0 or there are too many elements");
      return;
    }
    MutableView y;
    status = c.output(0, Shape{n}, y);
    for (std::int64_t i = 0; status.ok() && i < n; i++) {
      if constexpr (std::is_integral_v<T>)
        y.as<T>()[i] =
            static_cast<T>(static_cast<std::uint64_t>(start) +
                           static_cast<std::uint64_t>(i) * static_cast<std::uint64_t>(delta));
      else
        y.as<T>()[i] = static_cast<T>(start + static_cast<C>(i) * delta);
    }
  });
  return status;
}

constexpr longshore::Types range_types =
    type_set::float_types | types(DType::i16, DType::i32, DType::i64);

}  // namespace

extern constinit const OpDef definition = {
    .name = "Range",
    .doc = "start, start + delta, ... below (for negative delta: above) limit.",
    .since = 27,
    .schema = {.inputs = {{"start", range_types, "T"},
                          {"limit", range_types, "T"},
                          {"delta", range_types, "T"}},
               .outputs = {{"output", range_types, "T"}}},
    .infer = infer,
    .eval = eval,
    .examples = {"(n: i64[]) { y = Range(i64[]{0}, n, i64[]{1}) return y }",
                 "() { y = Range(f32[]{1.0}, f32[]{-1.0}, f32[]{-0.3}) return y }"},
};

}  // namespace longshore::ops::op_range
