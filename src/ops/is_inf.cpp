#include "ops/elementwise.hpp"

namespace longshore::ops::op_is_inf {
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
  const bool negative = c.attributes.integer("detect_negative", 1) != 0;
  const bool positive = c.attributes.integer("detect_positive", 1) != 0;
  return eval_unary_with<Types, Bool8>(c, [=](auto x) {
    const auto value = static_cast<double>(x);
    return std::isinf(value) && (value > 0 ? positive : negative);
  });
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "IsInf",
    .doc = "True where x is infinite; detect_positive and detect_negative choose the sign.",
    .since = 20,
    .schema = {.inputs = {{"X", type_set::float_types | type_set::float8_types, "T"}},
               .outputs = {{"Y", type_set::boolean}},
               .attributes = {{"detect_negative"}, {"detect_positive"}}},
    .infer = infer,
    .eval = eval,
    .facts = facts_rank,
    .examples = {"(x: f32[4]) { y = IsInf(x, detect_negative=0) return y }"},
};

}  // namespace longshore::ops::op_is_inf
