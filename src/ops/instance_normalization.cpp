#include "ops/norm.hpp"

namespace longshore::ops::op_instance_normalization {
namespace {

Status eval(EvalContext& c) noexcept {
  const std::int64_t channels = c.input(0).shape.rank > 1 ? c.input(0).shape[1] : 0;
  if (channels == 0) {
    MutableView y;
    return c.output(0, c.input(0).shape, y);
  }
  return eval_group_norm(c, channels, c.attributes.real("epsilon", 1e-5f));
}

void normalise(Node& n, int, Rewriter&) { n.attributes.erase("consumed_inputs"); }

}  // namespace

extern constinit const OpDef definition = {
    .name = "InstanceNormalization",
    .doc = "Each channel of each image gets mean 0 and variance 1, then scale and bias.",
    .since = 22,
    .schema = {.inputs = {{"input", type_set::float_types, "T"},
                          {"scale", type_set::float_types, "T"},
                          {"B", type_set::float_types, "T"}},
               .outputs = {{"output", type_set::float_types, "T"}},
               .attributes = {{"epsilon", AttributeKind::real}}},
    .normalise = normalise,
    .infer = infer_same,
    .eval = eval,
    .facts = facts_rank,
    .examples =
        {"(x: f32[2,3,4,5], s: f32[3], b: f32[3]) { y = InstanceNormalization(x, s, b) return y }"},
};

}  // namespace longshore::ops::op_instance_normalization
