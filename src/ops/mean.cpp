#include "ops/elementwise.hpp"

namespace longshore::ops::op_mean {
namespace {

Status eval(EvalContext& c) noexcept {
  return eval_variadic_with<FloatTypes>(
      c, [](auto a, auto b) { return a + b; },
      [](auto x, std::size_t n) { return x / static_cast<decltype(x)>(n); });
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "Mean",
    .doc = "The mean of the inputs, element by element.",
    .since = 13,
    .schema = {.inputs = {{"data", type_set::float_types, "T", Presence::variadic}},
               .outputs = {{"Y", type_set::float_types, "T"}}},
    .infer = infer_broadcast,
    .eval = eval,
    .facts = facts_rank,
    .quant = Quant::rescale,
    .first_dim = first_dim_of_broadcast,
    .form =
        [](const NodeTypes&) {
          return FormSpec{.form = "eltwise", .function = "mean", .other = 1};
        },
    .elementwise = true,
    .examples = {"(a: f32[2,3], b: f32[3], c: f32[]) { y = Mean(a, b, c) return y }",
                 "(a: f16[4]) { y = Mean(a) return y }"},
};

}  // namespace longshore::ops::op_mean
