#include "ops/elementwise.hpp"

namespace longshore::ops::op_abs {
namespace {

template <class T>
T absolute(T x) {
  if constexpr (std::is_floating_point_v<T>)
    return std::fabs(x);
  else
    return x < T{0} ? wrapping_subtract(T{0}, x) : x;
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "Abs",
    .doc = "y = |x|. The smallest integer stays itself.",
    .since = 13,
    .schema = {.inputs = {{"X", type_set::numbers, "T"}},
               .outputs = {{"Y", type_set::numbers, "T"}}},
    .infer = infer_same,
    .eval = eval_unary<NumberTypes, [](auto x) { return absolute(x); }>,
    .facts = facts_rank,
    .quant = Quant::table,
    .form = table_form,
    .elementwise = true,
    .examples = {"(x: f32[2,5]) { y = Abs(x) return y }", "(x: i16[4]) { y = Abs(x) return y }",
                 "(x: u8[4]) { y = Abs(x) return y }"},
};

}  // namespace longshore::ops::op_abs
