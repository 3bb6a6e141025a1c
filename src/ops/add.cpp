#include "ops/elementwise.hpp"

namespace longshore::ops {
namespace {

/// Integers wrap around, without undefined behaviour.
template <class T>
T sum(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  else
    return a + b;
}

}  // namespace

extern constinit const OpDef op_add = {
    .name = "Add",
    .doc = "y = a + b, broadcast as numpy does. Integers wrap around.",
    .since = 14,
    .schema = {.inputs = {{"A", type_set::numbers, "T"}, {"B", type_set::numbers, "T"}},
               .outputs = {{"C", type_set::numbers, "T"}}},
    .infer = infer_broadcast,
    .eval = eval_binary<NumberTypes, [](auto a, auto b) { return sum(a, b); }>,
    .quant = Quant::rescale,
    .form = Form::eltwise,
    .examples = {"(a: f32[2,3,4], b: f32[3,1]) { y = Add(a, b) return y }",
                 "(a: i64[2]) { y = Add(a, i64[]{3}) return y }"},
};

}  // namespace longshore::ops
