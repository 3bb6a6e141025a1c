#include "base/error.hpp"
#include "ops/norm.hpp"

namespace longshore::ops::op_group_normalization {
namespace {

/// Before opset 21 scale and bias had one entry for each group: each is repeated for its channels.
void normalise(Node& n, int opset, Rewriter& r) {
  if (opset >= 21) return;
  const std::int64_t groups = n.attributes.integer("num_groups");
  const TensorType& x = r.graph()[n.inputs[0]].type;
  if (!x.ranked || x.rank() < 2 || !x.dims[1].known() || groups < 1 ||
      x.dims[1].value % groups != 0)
    fail(Code::unsupported, "node ", describe(n), ": the channels of ", print(x),
         " must be known and a multiple of num_groups = ", groups);
  const ValueId column = r.constant(make_ints(Ints{groups, 1}));
  const ValueId matrix = r.constant(make_ints(Ints{groups, x.dims[1].value / groups}));
  const ValueId flat = r.constant(make_ints(Ints{-1}));
  for (std::size_t i = 1; i < 3; i++) {
    const ValueId wide = r.before("Expand", {r.before("Reshape", {n.inputs[i], column}), matrix});
    n.inputs[i] = r.before("Reshape", {wide, flat});
  }
}

Status eval(EvalContext& c) noexcept {
  return eval_group_norm(c, c.attributes.integer("num_groups"),
                         c.attributes.real("epsilon", 1e-5f));
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "GroupNormalization",
    .doc =
        "Each group of channels of each image gets mean 0 and variance 1, then scale and bias by "
        "channel.",
    .since = 21,
    .schema = {.inputs = {{"X", type_set::float_types, "T"},
                          {"scale", type_set::float_types, "T"},
                          {"bias", type_set::float_types, "T"}},
               .outputs = {{"Y", type_set::float_types, "T"}},
               .attributes = {{"num_groups", AttributeKind::integer, true},
                              {"epsilon", AttributeKind::real},
                              {"stash_type"}}},
    .normalise = normalise,
    .infer = infer_same,
    .eval = eval,
    .facts = facts_rank,
    .examples = {"(x: f32[2,4,3], s: f32[4], b: f32[4]) { y = GroupNormalization(x, s, b, "
                 "num_groups=2) return y }"},
};

}  // namespace longshore::ops::op_group_normalization
