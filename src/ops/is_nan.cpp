#include "ops/elementwise.hpp"

namespace longshore::ops::op_is_nan {
namespace {

/// Half and 8-bit types are looked at as float.
using Types = TypeList<float, double, Float16, BFloat16, Float8E4M3Fn, Float8E4M3Fnuz, Float8E5M2,
                       Float8E5M2Fnuz>;

void infer(InferContext& c) {
  TensorType y = c.input(0);
  y.dtype = DType::boolean;
  c.output(0, y);
}

Status eval(EvalContext& c) noexcept {
  return eval_unary_with<Types, Bool8>(c, [](auto x) {
    if constexpr (std::is_same_v<decltype(x), double>)
      return std::isnan(x);
    else
      return std::isnan(static_cast<float>(x));
  });
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "IsNaN",
    .doc = "True where x is not a number.",
    .since = 20,
    .schema = {.inputs = {{"X", type_set::float_types | type_set::float8_types, "T"}},
               .outputs = {{"Y", type_set::boolean}}},
    .infer = infer,
    .eval = eval,
    .facts = facts_rank,
    .examples = {"(x: f32[4]) { y = IsNaN(x) return y }"},
};

}  // namespace longshore::ops::op_is_nan
