#include "ops/elementwise.hpp"

namespace longshore::ops::op_neg {
namespace {

template <class T>
T negative(T x) {
  if constexpr (std::is_floating_point_v<T>)
    return -x;
  else
    return wrapping_subtract(T{0}, x);
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "Neg",
    .doc = "y = -x. The smallest integer stays itself.",
    .since = 13,
    .schema = {.inputs = {{"X", type_set::float_types | type_set::signed_types, "T"}},
               .outputs = {{"Y", type_set::float_types | type_set::signed_types, "T"}}},
    .infer = infer_same,
    .eval = eval_unary<NumberTypes, [](auto x) { return negative(x); }>,
    .facts = facts_rank,
    .quant = Quant::table,
    .form = table_form,
    .elementwise = true,
    .examples = {"(x: f32[2,5]) { y = Neg(x) return y }", "(x: i8[4]) { y = Neg(x) return y }"},
};

}  // namespace longshore::ops::op_neg
