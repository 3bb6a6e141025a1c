#include "ops/legacy.hpp"
#include "ops/movement.hpp"

namespace longshore::ops::op_unsqueeze {
namespace {

void normalise(Node& n, int opset, Rewriter& r) {
  if (opset < 13) attribute_to_input(n, "axes", 1, r);
}

/// Marks the new axes among `rank` output axes.
Status mark(const std::int64_t* axes, int count, int rank, bool (&fresh)[max_rank]) noexcept {
  if (rank > max_rank)
    return Status::error(Code::unsupported, "a result of rank %d; at most 8 is supported", rank);
  for (int i = 0; i < count; i++) {
    const int axis = resolve_axis(axes[i], rank);
    if (axis < 0) return axis_out_of_range(axes[i], rank);
    if (fresh[axis]) return Status::error(Code::bad_argument, "axis %d is given twice", axis);
    fresh[axis] = true;
  }
  return {};
}

void infer(InferContext& c) {
  const TensorType x = c.input(0);
  const std::optional<Ints> axes = c.integers(1);
  if (!x.ranked || !axes) {
    const std::optional<Shape> length = c.input(1).shape();
    if (x.ranked && length && length->elements() + x.rank() <= max_rank)
      c.output(0, unknown_dims(x.dtype, x.rank() + static_cast<int>(length->elements())));
    else
      c.output(0, TensorType::unranked(x.dtype));
    return;
  }
  bool fresh[max_rank] = {};
  const int rank = x.rank() + static_cast<int>(std::min<std::size_t>(axes->size(), 100));
  if (const Status s = mark(axes->data(), static_cast<int>(axes->size()), rank, fresh); !s.ok())
    c.fail(s.text());
  Dims out;
  std::size_t next = 0;
  for (int i = 0; i < rank; i++) out.push_back(fresh[i] ? Dim(1) : x.dims[next++]);
  c.output(0, {x.dtype, out});
}

Status eval(EvalContext& c) noexcept {
  const Shape& x = c.input(0).shape;
  IntList axes;
  LONGSHORE_TRY(read_ints(c.input(1), max_rank, "the axes", axes));
  bool fresh[max_rank] = {};
  LONGSHORE_TRY(mark(axes.values, axes.count, x.rank + axes.count, fresh));
  Shape out;
  int next = 0;
  for (int i = 0; i < x.rank + axes.count; i++) out.push(fresh[i] ? 1 : x[next++]);
  return copy_as(c, out);
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "Unsqueeze",
    .doc = "Inserts axes of size 1; the axes count in the result.",
    .since = 25,
    .schema = {.inputs = {{"data", type_set::any, "T"},
                          {"axes", type_set::int64, {}, Presence::required, InputRole::parameter}},
               .outputs = {{"expanded", type_set::any, "T"}}},
    .normalise = normalise,
    .infer = infer,
    .eval = eval,
    .eval_quantised = eval,
    .facts = tensor_facts,
    .quant = Quant::same,
    .form = view_form,
    .view = true,
    .examples = {"(x: f32[N,3]) { y = Unsqueeze(x, i64[2]{-1, 0}) return y }",
                 "(x: i64[]) { y = Unsqueeze(x, i64[1]{0}) return y }"},
};

}  // namespace longshore::ops::op_unsqueeze
