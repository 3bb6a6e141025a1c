#include "ops/cast.hpp"

#include "base/error.hpp"
#include "ops/elementwise.hpp"

namespace longshore::ops::op_cast {
namespace {

void infer(InferContext& c) {
  TensorType y = c.input(0);
  const std::int64_t to = c.attributes().integer("to");
  y.dtype = dtype_of(to);
  if (size_bytes(y.dtype) == 0)
    c.fail(str("to = ", to, " is no element type that Longshore computes with"));
  c.output(0, y);
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "Cast",
    .doc = "x as another element type. Float to integer saturates and NaN gives 0.",
    .since = 25,
    .schema = {.inputs = {{"input", type_set::any}},
               .outputs = {{"output", type_set::any}},
               .attributes = {{"to", AttributeKind::integer, true},
                              {"saturate"},
                              {"round_mode", AttributeKind::text}}},
    .infer = infer,
    .eval = eval_cast,
    .facts = facts_rank,
    .examples = {"(x: f32[2,5]) { y = Cast(x, to=3) return y }",
                 "(x: bool[4]) { y = Cast(x, to=1) return y }",
                 "(x: i64[2]) { y = Cast(x, to=10) return y }",
                 "(x: f16[3]) { y = Cast(x, to=17, saturate=0) return y }"},
};

}  // namespace longshore::ops::op_cast
