#include "ops/divide.hpp"
#include "ops/elementwise.hpp"
#include "ops/legacy.hpp"
#include "tensor/convert.hpp"

namespace longshore::ops::op_pow {
namespace {

using Bases = TypeList<float, double, Float16, BFloat16, std::int32_t, std::int64_t>;

/// Wraps around; a negative exponent truncates towards zero, as 1 / x^n.
template <class T>
T integer_power(T base, std::int64_t exponent, Status& status) {
  if (exponent < 0) {
    if (base == 0) status = Status::error(Code::arithmetic, "zero to a negative integer power");
    if (base == T{-1}) return exponent % 2 == 0 ? T{1} : T{-1};
    return base == 1 ? T{1} : T{0};
  }
  T result{1};
  for (; exponent > 0; exponent >>= 1) {
    if (exponent & 1) result = wrapping_multiply(result, base);
    base = wrapping_multiply(base, base);
  }
  return result;
}

/// Base and exponent of different types, of which at least one is often an integer.
Status eval_mixed(EvalContext& c) noexcept {
  const TensorView &a = c.input(0), &b = c.input(1);
  Shape dims;
  if (!broadcast_shape(a.shape, b.shape, dims)) return cannot_broadcast();
  MutableView y;
  LONGSHORE_TRY(c.output(0, dims, y));
  const Shape strides[2] = {broadcast_strides(a.shape, dims), broadcast_strides(b.shape, dims)};
  const bool integers = type_set::integers.has(a.dtype) && type_set::integers.has(b.dtype);
  Status status;
  const bool known = visit_type(Bases{}, a.dtype, [&]<class T>() {
    for (Rows<2> rows(dims, strides); rows.more(); rows.next())
      for (std::int64_t j = 0; j < rows.count(); j++) {
        const auto base = static_cast<Compute<T>>(a.as<T>()[rows.at(0) + j * rows.step(0)]);
        const std::int64_t at = rows.at(1) + j * rows.step(1);
        T& to = y.as<T>()[rows.out() + j];
        if constexpr (std::is_integral_v<T>)
          if (integers) {
            to = integer_power(base, load_integer(b, at), status);
            continue;
          }
        to = convert<T>(std::pow(static_cast<double>(base), load_real(b, at)));
      }
  });
  return known ? status : wrong_type(a.dtype);
}

Status eval(EvalContext& c) noexcept {
  if (c.input(0).dtype != c.input(1).dtype || !type_set::float_types.has(c.input(0).dtype))
    return eval_mixed(c);
  return eval_binary<FloatTypes, [](auto a, auto b) { return std::pow(a, b); }>(c);
}

void infer(InferContext& c) { infer_broadcast_as(c, c.input(0).dtype); }

}  // namespace

extern constinit const OpDef definition = {
    .name = "Pow",
    .doc = "x to the power of y, as x's type, broadcast as numpy does.",
    .since = 15,
    .schema = {.inputs = {{"X", type_set::float_types | type_set::indices, "T"},
                          {"Y", type_set::numbers, {}, Presence::required, InputRole::parameter}},
               .outputs = {{"Z", type_set::numbers, "T"}}},
    .normalise = legacy_broadcast,
    .infer = infer,
    .eval = eval,
    .facts = facts_rank,
    .quant = Quant::rescale,
    .first_dim = first_dim_of_broadcast,
    .examples = {"(x: f32[2,3]) { y = Pow(x, f32[]{2}) return y }",
                 "(x: f32[2,3], n: i64[3]) { y = Pow(x, n) return y }",
                 "(x: i32[4], n: u8[4]) { y = Pow(x, n) return y }"},
};

}  // namespace longshore::ops::op_pow
