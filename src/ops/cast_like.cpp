#include "ops/cast.hpp"
#include "ops/elementwise.hpp"

namespace longshore::ops::op_cast_like {
namespace {

void infer(InferContext& c) {
  TensorType y = c.input(0);
  y.dtype = c.input(1).dtype;
  c.output(0, y);
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "CastLike",
    .doc = "x as the element type of another tensor, by the rules of Cast.",
    .since = 25,
    .schema = {.inputs = {{"input", type_set::any}, {"target_type", type_set::any}},
               .outputs = {{"output", type_set::any}},
               .attributes = {{"saturate"}, {"round_mode", AttributeKind::text}}},
    .infer = infer,
    .eval = eval_cast,
    .facts = facts_rank,
    .examples = {"(x: f32[2,5], like: i8[1]) { y = CastLike(x, like) return y }"},
};

}  // namespace longshore::ops::op_cast_like
