#include "ops/elementwise.hpp"

namespace longshore::ops::op_sign {
namespace {

template <class T>
T sign(T x) {
  if constexpr (std::is_floating_point_v<T>)
    if (std::isnan(x)) return x;
  return x > T{0} ? T{1} : x < T{0} ? static_cast<T>(-1) : T{0};
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "Sign",
    .doc = "-1, 0 or 1; NaN stays NaN.",
    .since = 13,
    .schema = {.inputs = {{"X", type_set::numbers, "T"}},
               .outputs = {{"Y", type_set::numbers, "T"}}},
    .infer = infer_same,
    .eval = eval_unary<NumberTypes, [](auto x) { return sign(x); }>,
    .facts = facts_rank,
    .quant = Quant::table,
    .steep = true,
    .form = table_form,
    .elementwise = true,
    .examples = {"(x: f32[2,5]) { y = Sign(x) return y }", "(x: u8[4]) { y = Sign(x) return y }"},
};

}  // namespace longshore::ops::op_sign
