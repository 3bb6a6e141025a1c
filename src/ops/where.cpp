#include "ops/elementwise.hpp"

namespace longshore::ops::op_where {
namespace {

void infer(InferContext& c) {
  const DType dtype = c.input(1).dtype != DType::undefined ? c.input(1).dtype : c.input(2).dtype;
  infer_broadcast_as(c, dtype);
}

/// Elements are only moved, so their size is all that matters.
using Sizes = TypeList<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>;
constexpr DType type_of_size(std::size_t bytes) {
  return bytes == 1 ? DType::u8 : bytes == 2 ? DType::u16 : bytes == 4 ? DType::u32 : DType::u64;
}

Status eval(EvalContext& c) noexcept {
  const TensorView &condition = c.input(0), &x = c.input(1), &y = c.input(2);
  Shape dims;
  if (!broadcast_shape(x.shape, y.shape, dims) || !broadcast_shape(dims, condition.shape, dims))
    return cannot_broadcast();
  MutableView z;
  LONGSHORE_TRY(c.output(0, dims, z));
  const Shape strides[3] = {broadcast_strides(condition.shape, dims),
                            broadcast_strides(x.shape, dims), broadcast_strides(y.shape, dims)};
  visit_type(Sizes{}, type_of_size(size_bytes(z.dtype)), [&]<class T>() {
    for (Rows<3> rows(dims, strides); rows.more(); rows.next())
      for (std::int64_t j = 0; j < rows.count(); j++) {
        const bool yes = condition.as<Bool8>()[rows.at(0) + j * rows.step(0)];
        z.as<T>()[rows.out() + j] = yes ? x.as<T>()[rows.at(1) + j * rows.step(1)]
                                        : y.as<T>()[rows.at(2) + j * rows.step(2)];
      }
  });
  return {};
}

/// Below this a constant stands for "not at all".
constexpr float never = -5000;

/// Where(chosen, scores, never) that only a Softmax reads: scores + Where(chosen, 0, never), an
/// additive mask, which has codes where a condition has none. Beside a number that low the scores
/// do not count.
void as_additive_mask(Node& n, Rewriter& r) {
  const Node* reader = r.only_reader(n.outputs[0]);
  if (!reader || !reader->op->ignores_low) return;
  for (const std::size_t k : {1u, 2u}) {
    const Tensor* low = r.graph().constant(n.inputs[k]);
    if (!low || low->dtype != DType::f32 || low->elements() != 1 ||
        r.graph().constant(n.inputs[3 - k]))
      continue;
    if (!(low->values<float>()[0] <= never)) continue;
    const ValueId zero = r.constant(make_floats(Shape{}, std::vector<float>{0})),
                  masked = r.constant(make_floats(Shape{}, std::vector<float>{2 * never}));
    const ValueId scores = n.inputs[3 - k];
    const ValueId mask =
        r.before("Where", {n.inputs[0], k == 1 ? masked : zero, k == 1 ? zero : masked});
    n.op = &op_named("Add");
    n.inputs = {scores, mask};
    return;
  }
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "Where",
    .doc = "x where the condition holds, else y; all three are broadcast.",
    .since = 16,
    .schema = {.inputs = {{"condition", type_set::boolean},
                          {"X", type_set::any, "T"},
                          {"Y", type_set::any, "T"}},
               .outputs = {{"output", type_set::any, "T"}}},
    .infer = infer,
    .eval = eval,
    .facts = facts_rank,
    .to_integer = as_additive_mask,
    .first_dim = first_dim_of_broadcast,
    .examples = {"(c: bool[3,1], x: f32[2,3,4], y: f32[]) { z = Where(c, x, y) return z }",
                 "(c: bool[4], x: i64[4], y: i64[1]) { z = Where(c, x, y) return z }"},
};

}  // namespace longshore::ops::op_where
