#include "ops/movement.hpp"

namespace longshore::ops::op_gather {
namespace {

void infer(InferContext& c) {
  const TensorType x = c.input(0), indices = c.input(1);
  if (!x.ranked || !indices.ranked) {
    c.output(0, TensorType::unranked(x.dtype));
    return;
  }
  const int axis = resolve_axis(c.attributes().integer("axis", 0), x.rank());
  if (axis < 0) c.fail("its axis is out of range for rank " + std::to_string(x.rank()));
  Dims out(x.dims.begin(), x.dims.begin() + axis);
  out.insert(out.end(), indices.dims.begin(), indices.dims.end());
  out.insert(out.end(), x.dims.begin() + axis + 1, x.dims.end());
  if (out.size() > max_rank)
    c.fail("its output would have rank " + std::to_string(out.size()) + "; at most 8 is supported");
  c.output(0, {x.dtype, out});
}

Status eval(EvalContext& c) noexcept {
  const TensorView &x = c.input(0), &indices = c.input(1);
  const int axis = resolve_axis(c.attributes.integer("axis", 0), x.shape.rank);
  if (axis < 0) return axis_out_of_range(c.attributes.integer("axis", 0), x.shape.rank);
  if (x.shape.rank - 1 + indices.shape.rank > max_rank)
    return Status::error(Code::unsupported, "a result of rank %d; at most 8 is supported",
                         x.shape.rank - 1 + indices.shape.rank);
  Shape dims;
  for (int i = 0; i < axis; i++) dims.push(x.shape[i]);
  for (std::int64_t d : indices.shape) dims.push(d);
  for (int i = axis + 1; i < x.shape.rank; i++) dims.push(x.shape[i]);
  MutableView y;
  LONGSHORE_TRY(c.output(0, dims, y));
  const std::int64_t size = x.shape[axis], count = indices.elements(),
                     outer = x.shape.product(0, axis);
  const std::int64_t inner =
      x.shape.product(axis + 1, x.shape.rank) * static_cast<std::int64_t>(size_bytes(x.dtype));
  for (std::int64_t i = 0; i < count; i++) {
    std::int64_t k = int_at(indices, i);
    if (k < -size || k >= size) return index_out_of_range(k, size);
    if (k < 0) k += size;
    for (std::int64_t o = 0; o < outer && inner > 0; o++)
      std::memcpy(y.as<std::byte>() + (o * count + i) * inner,
                  x.as<std::byte>() + (o * size + k) * inner, static_cast<std::size_t>(inner));
  }
  return {};
}

void facts(const NodeTypes& n, Facts& f) {
  tensor_facts(n, f);
  if (n.input(0).ranked)
    f["axis"] = resolve_axis(n.node.attributes.integer("axis", 0), n.input(0).rank());
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "Gather",
    .doc = "The slices of the axis that the indices name; negative ones count from the end.",
    .since = 13,
    .schema =
        {.inputs = {{"data", type_set::any, "T"},
                    {"indices", type_set::indices, {}, Presence::required, InputRole::parameter}},
         .outputs = {{"output", type_set::any, "T"}},
         .attributes = {{"axis"}}},
    .infer = infer,
    .eval = eval,
    .eval_quantised = eval,
    .facts = facts,
    .quant = Quant::same,
    .picks = true,
    .examples = {"(x: f32[N,5,2]) { y = Gather(x, i64[2,2]{0, -1, 4, -5}, axis=1) return y }",
                 "(x: i64[3]) { y = Gather(x, i32[]{-1}) return y }",
                 "(x: i8[4,2] q(0.5, 7)) { y: i8[1,2] q(0.5, 7) = Gather(x, i64[1]{2}) return y }"},
};

}  // namespace longshore::ops::op_gather
