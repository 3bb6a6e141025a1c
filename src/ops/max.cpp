#include "ops/elementwise.hpp"

namespace longshore::ops::op_max {
namespace {

Status eval(EvalContext& c) noexcept {
  return eval_variadic_with<NumberTypes>(
      c, [](auto a, auto b) { return larger(a, b); }, [](auto x, std::size_t) { return x; });
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "Max",
    .doc = "The largest of the inputs, element by element; NaN where any is NaN.",
    .since = 13,
    .schema = {.inputs = {{"data", type_set::numbers, "T", Presence::variadic}},
               .outputs = {{"Y", type_set::numbers, "T"}}},
    .infer = infer_broadcast,
    .eval = eval,
    .facts = facts_rank,
    .quant = Quant::rescale,
    .first_dim = first_dim_of_broadcast,
    .form =
        [](const NodeTypes&) {
          return FormSpec{.form = "eltwise", .function = "maximum", .other = 1};
        },
    .elementwise = true,
    .examples = {"(a: f32[2,3], b: f32[3], c: f32[]) { y = Max(a, b, c) return y }",
                 "(a: u8[4], b: u8[4]) { y = Max(a, b) return y }"},
};

}  // namespace longshore::ops::op_max
