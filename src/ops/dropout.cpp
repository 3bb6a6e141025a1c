#include <algorithm>

#include "tensor/convert.hpp"
#include "ops/copy.hpp"
#include "ops/elementwise.hpp"

namespace longshore::ops::op_dropout {
namespace {

/// The ratio was an attribute before opset 12 and does nothing in inference.
void normalise(Node& n, int opset, Rewriter&) {
  if (opset >= 12) return;
  for (std::string_view name : {"ratio", "is_test", "consumed_inputs"}) n.attributes.erase(name);
}

void infer(InferContext& c) {
  TensorType y = c.input(0);
  c.output(0, y);
  y.dtype = DType::boolean;
  c.output(1, y);
}

Status eval(EvalContext& c) noexcept {
  const bool training = c.has(2) && load_real(c.input(2), 0) != 0;
  if (training && (!c.has(1) || load_real(c.input(1), 0) != 0))
    return Status::error(Code::unsupported,
                         "Dropout drops nothing here: training_mode must be false");
  LONGSHORE_TRY(eval_copy(c));
  if (!c.wants(1)) return {};
  MutableView mask;
  LONGSHORE_TRY(c.output(1, c.input(0).shape, mask));
  std::fill_n(mask.as<Bool8>(), mask.elements(), Bool8(true));
  return {};
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "Dropout",
    .doc = "Inference drops nothing: the output is the input and the mask is true everywhere.",
    .since = 22,
    .schema = {.inputs = {{"data", type_set::float_types | type_set::float8_types, "T"},
                          {"ratio",
                           type_set::float_types | type_set::float8_types,
                           {},
                           Presence::optional,
                           InputRole::parameter},
                          {"training_mode",
                           type_set::boolean,
                           {},
                           Presence::optional,
                           InputRole::parameter}},
               .outputs = {{"output", type_set::any, "T"},
                           {"mask", type_set::boolean, {}, Presence::optional}},
               .attributes = {{"seed"}}},
    .normalise = normalise,
    .infer = infer,
    .eval = eval,
    .eval_quantised = eval,
    .facts = facts_rank,
    .quant = Quant::same,
    .form = view_form,
    .view = true,
    .examples = {"(x: f32[2,3]) { y, m = Dropout(x) return y, m }"},
};

}  // namespace longshore::ops::op_dropout
