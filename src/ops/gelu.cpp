#include "ops/elementwise.hpp"
#include "ops/activation.hpp"

namespace longshore::ops::op_gelu {
namespace {

Status eval(EvalContext& c) noexcept {
  const std::string_view how = c.attributes.text("approximate", "none");
  if (how == "tanh") return eval_unary_with<FloatTypes>(c, [](auto x) { return gelu_tanh(x); });
  if (how != "none") return Status::error(Code::bad_model, "approximate is 'none' or 'tanh'");
  return eval_unary_with<FloatTypes>(c, [](auto x) { return gelu(x); });
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "Gelu",
    .doc =
        "y = x * P(X <= x) for a standard normal X; approximate = \"tanh\" takes a near formula.",
    .since = 20,
    .schema = {.inputs = {{"X", type_set::float_types, "T"}},
               .outputs = {{"Y", type_set::float_types, "T"}},
               .attributes = {{"approximate", AttributeKind::text}}},
    .infer = infer_same,
    .eval = eval,
    .facts = facts_rank,
    .quant = Quant::table,
    .form = table_form,
    .elementwise = true,
    .examples = {"(x: f32[2,5]) { y = Gelu(x) return y }",
                 "(x: f32[4]) { y = Gelu(x, approximate=\"tanh\") return y }"},
};

}  // namespace longshore::ops::op_gelu
