#include "ops/elementwise.hpp"
#include "ops/divide.hpp"
#include "ops/legacy.hpp"

namespace longshore::ops::op_div {
namespace {

Status eval(EvalContext& c) noexcept {
  return eval_binary_with<NumberTypes, void>(c, [](auto a, auto b, Status& status) {
    using T = decltype(a);
    if constexpr (std::is_integral_v<T>)
      if (!divides(a, b, status)) return T{0};
    return static_cast<T>(a / b);
  });
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "Div",
    .doc = "y = a / b, broadcast as numpy does. Integers truncate; division by zero is an error.",
    .since = 14,
    .schema = {.inputs = {{"A", type_set::numbers, "T"}, {"B", type_set::numbers, "T"}},
               .outputs = {{"C", type_set::numbers, "T"}}},
    .normalise = legacy_broadcast,
    .infer = infer_broadcast,
    .eval = eval,
    .facts = facts_rank,
    .quant = Quant::rescale,
    .first_dim = first_dim_of_broadcast,
    .form =
        [](const NodeTypes&) {
          return FormSpec{.form = "eltwise", .function = "divide", .other = 1};
        },
    .elementwise = true,
    .examples = {"(a: f32[2,3,4], b: f32[3,1]) { y = Div(a, b) return y }",
                 "(a: i32[2,3]) { y = Div(a, i32[]{3}) return y }"},
};

}  // namespace longshore::ops::op_div
