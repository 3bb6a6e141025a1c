#include "ops/legacy.hpp"
#include "ops/movement.hpp"

namespace longshore::ops::op_split {
namespace {

// Before 18, without sizes, the parts are as many as the outputs; before 13, sizes are an
// attribute.
void normalise(Node& n, int opset, Rewriter& r) {
  if (opset < 13) attribute_to_input(n, "split", 1, r);
  if (opset < 18 && n.input(1) == no_value && !n.attributes.has("num_outputs"))
    n.attributes.set("num_outputs", static_cast<std::int64_t>(n.outputs.size()));
}

/// Size of part i of `parts` equal ones (the last may be smaller).
std::int64_t equal_part(std::int64_t size, std::int64_t parts, std::int64_t i) {
  const std::int64_t each = size / parts + (size % parts != 0 ? 1 : 0);
  return std::clamp<std::int64_t>(size - each * i, 0, each);
}

void infer(InferContext& c) {
  const TensorType x = c.input(0);
  const auto outputs = static_cast<std::int64_t>(c.output_count());
  const std::int64_t parts = c.attributes().integer("num_outputs", outputs);
  if (!c.has(1) && !c.attributes().has("num_outputs")) c.fail("it needs split or num_outputs");
  if (!c.has(1) && parts != outputs)
    c.fail("num_outputs is " + std::to_string(parts) + ", it has " + std::to_string(outputs) +
           " outputs");
  const std::optional<Ints> sizes = c.integers(1);
  if (sizes && static_cast<std::int64_t>(sizes->size()) != outputs)
    c.fail("split has " + std::to_string(sizes->size()) + " sizes, it has " +
           std::to_string(outputs) + " outputs");
  const int axis = x.ranked ? resolve_axis(c.attributes().integer("axis", 0), x.rank()) : 0;
  if (axis < 0) c.fail("its axis is out of range for rank " + std::to_string(x.rank()));
  std::int64_t sum = 0;
  for (std::int64_t i = 0; i < outputs; i++) {
    TensorType y = x;
    if (x.ranked) {
      Dim& d = y.dims[static_cast<std::size_t>(axis)];
      if (sizes) {
        const std::int64_t size = (*sizes)[static_cast<std::size_t>(i)];
        if (size < 0 || __builtin_add_overflow(sum, size, &sum))
          c.fail("split has the size " + std::to_string(size));
        d = Dim(size);
      } else if (!c.has(1) && d.known()) {
        d = Dim(equal_part(d.value, parts, i));
      } else if (outputs > 1 || c.has(1)) {
        d = Dim();
      }
    }
    c.output(static_cast<std::size_t>(i), y);
  }
  if (sizes && x.ranked && x.dims[static_cast<std::size_t>(axis)].known() &&
      sum != x.dims[static_cast<std::size_t>(axis)].value)
    c.fail("split adds up to " + std::to_string(sum) + ", its axis has size " +
           std::to_string(x.dims[static_cast<std::size_t>(axis)].value));
}

Status eval(EvalContext& c) noexcept {
  const TensorView &x = c.input(0), &sizes = c.input(1);
  const int axis = resolve_axis(c.attributes.integer("axis", 0), x.shape.rank);
  if (axis < 0) return axis_out_of_range(c.attributes.integer("axis", 0), x.shape.rank);
  const auto outputs = static_cast<std::int64_t>(c.output_count());
  if (sizes.present() && sizes.elements() != outputs)
    return Status::error(Code::bad_argument, "split has %lld sizes for %lld outputs",
                         static_cast<long long>(sizes.elements()), static_cast<long long>(outputs));
  const auto part = [&](std::int64_t i) {
    return sizes.present() ? int_at(sizes, i) : equal_part(x.shape[axis], outputs, i);
  };
  std::int64_t sum = 0;
  for (std::int64_t i = 0; i < outputs; i++)
    if (part(i) < 0 || part(i) > x.shape[axis] - sum ||
        (sum += part(i), i == outputs - 1 && sum != x.shape[axis]))
      return Status::error(Code::bad_argument, "the sizes of split do not add up to the axis' %lld",
                           static_cast<long long>(x.shape[axis]));
  const auto size = static_cast<std::int64_t>(size_bytes(x.dtype));
  const std::int64_t outer = x.shape.product(0, axis),
                     inner = x.shape.product(axis + 1, x.shape.rank) * size;
  std::int64_t at = 0;
  for (std::int64_t i = 0; i < outputs; at += part(i), i++) {
    if (!c.wants(static_cast<std::size_t>(i))) continue;
    Shape dims = x.shape;
    dims[axis] = part(i);
    MutableView y;
    LONGSHORE_TRY(c.output(static_cast<std::size_t>(i), dims, y));
    const std::int64_t row = part(i) * inner;
    for (std::int64_t o = 0; o < outer && row > 0; o++)
      std::memcpy(y.as<std::byte>() + o * row, x.as<std::byte>() + (o * x.shape[axis] + at) * inner,
                  static_cast<std::size_t>(row));
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
    .name = "Split",
    .doc =
        "Parts along the axis: of the sizes given, or equal ones of which the last may be smaller.",
    .since = 18,
    .schema = {.inputs = {{"input", type_set::any, "T"},
                          {"split", type_set::int64, {}, Presence::optional, InputRole::parameter}},
               .outputs = {{"outputs", type_set::any, "T", Presence::variadic}},
               .attributes = {{"axis"}, {"num_outputs"}}},
    .normalise = normalise,
    .infer = infer,
    .eval = eval,
    .eval_quantised = eval,
    .facts = facts,
    .quant = Quant::same,
    .form = take_form,
    .examples = {"(x: f32[2,7]) { a, _, b = Split(x, axis=1, num_outputs=3) return a, b }",
                 "(x: f32[N,6,2]) { a, b = Split(x, i64[2]{4, 2}, axis=-2) return a, b }"},
};

}  // namespace longshore::ops::op_split
