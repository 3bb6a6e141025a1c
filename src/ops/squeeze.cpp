#include "ops/legacy.hpp"
#include "ops/movement.hpp"

namespace longshore::ops::op_squeeze {
namespace {

void normalise(Node& n, int opset, Rewriter& r) {
  if (opset < 13) attribute_to_input(n, "axes", 1, r);
}

void infer(InferContext& c) {
  const TensorType x = c.input(0);
  const std::optional<Ints> axes = c.integers(1);
  if (!x.ranked || (c.has(1) && !axes)) {
    c.output(0, TensorType::unranked(x.dtype));
    return;
  }
  std::vector<bool> drop(x.dims.size());
  if (axes) {
    for (std::int64_t a : *axes) {
      const int axis = resolve_axis(a, x.rank());
      if (axis < 0)
        c.fail("axis " + std::to_string(a) + " is out of range for rank " +
               std::to_string(x.rank()));
      const Dim& d = x.dims[static_cast<std::size_t>(axis)];
      if (d.known() && d.value != 1)
        c.fail("axis " + std::to_string(a) + " has size " + std::to_string(d.value) + ", not 1");
      drop[static_cast<std::size_t>(axis)] = true;
    }
  } else {
    for (std::size_t i = 0; i < x.dims.size(); i++) {
      if (!x.dims[i].known()) {  // it may be 1
        c.output(0, TensorType::unranked(x.dtype));
        return;
      }
      drop[i] = x.dims[i].value == 1;
    }
  }
  Dims out;
  for (std::size_t i = 0; i < x.dims.size(); i++)
    if (!drop[i]) out.push_back(x.dims[i]);
  c.output(0, {x.dtype, out});
}

Status eval(EvalContext& c) noexcept {
  const Shape& x = c.input(0).shape;
  bool drop[max_rank] = {};
  if (c.has(1)) {
    IntList axes;
    LONGSHORE_TRY(read_ints(c.input(1), max_rank, "the axes", axes));
    for (std::int64_t a : axes) {
      const int axis = resolve_axis(a, x.rank);
      if (axis < 0) return axis_out_of_range(a, x.rank);
      if (x[axis] != 1)
        return Status::error(Code::bad_argument, "axis %d has size %lld, not 1", axis,
                             static_cast<long long>(x[axis]));
      drop[axis] = true;
    }
  } else {
    for (int i = 0; i < x.rank; i++) drop[i] = x[i] == 1;
  }
  Shape out;
  for (int i = 0; i < x.rank; i++)
    if (!drop[i]) out.push(x[i]);
  return copy_as(c, out);
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "Squeeze",
    .doc = "Drops the axes given, whose size must be 1, or all axes of size 1.",
    .since = 25,
    .schema = {.inputs = {{"data", type_set::any, "T"},
                          {"axes", type_set::int64, {}, Presence::optional, InputRole::parameter}},
               .outputs = {{"squeezed", type_set::any, "T"}}},
    .normalise = normalise,
    .infer = infer,
    .eval = eval,
    .eval_quantised = eval,
    .facts = tensor_facts,
    .quant = Quant::same,
    .form = view_form,
    .view = true,
    .examples = {"(x: f32[1,N,1]) { y = Squeeze(x, i64[1]{-1}) return y }",
                 "(x: f32[1,3,1]) { y = Squeeze(x) return y }"},
};

}  // namespace longshore::ops::op_squeeze
