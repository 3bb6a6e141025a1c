#include "ops/elementwise.hpp"
#include "tensor/convert.hpp"

namespace longshore::ops::op_shrink {
namespace {

Status eval(EvalContext& c) noexcept {
  const double bias = c.attributes.real("bias", 0.0f), lambda = c.attributes.real("lambd", 0.5f);
  const TensorView& x = c.input(0);
  MutableView y;
  LONGSHORE_TRY(c.output(0, x.shape, y));
  for (std::int64_t i = 0, n = x.elements(); i < n; i++) {
    const double value = load_real(x, i);
    store_real(y, i, value < -lambda ? value + bias : value > lambda ? value - bias : value * 0);
  }
  return {};
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "Shrink",
    .doc = "x + bias below -lambd, x - bias above lambd, 0 between; NaN stays NaN.",
    .since = 9,
    .schema = {.inputs = {{"input", type_set::numbers, "T"}},
               .outputs = {{"output", type_set::numbers, "T"}},
               .attributes = {{"lambd", AttributeKind::real}, {"bias", AttributeKind::real}}},
    .infer = infer_same,
    .eval = eval,
    .facts = facts_rank,
    .quant = Quant::table,
    .steep = true,
    .form = table_form,
    .elementwise = true,
    .examples = {"(x: f32[2,5]) { y = Shrink(x, lambd=1.5, bias=1.5) return y }"},
};

}  // namespace longshore::ops::op_shrink
