#include "ir/quantised.hpp"
#include "ops/movement.hpp"

namespace longshore::ops {
extern const OpDef op_concat;
namespace {

void infer(InferContext& c) {
  TensorType out = c.input(0);
  for (std::size_t i = 1; i < c.input_count() && !out.ranked; i++)
    if (c.input(i).ranked) out = c.input(i);
  if (!out.ranked) {
    c.output(0, out);
    return;
  }
  const int axis = resolve_axis(c.attributes().integer("axis"), out.rank());
  if (axis < 0) c.fail("its axis is out of range for rank " + std::to_string(out.rank()));
  const auto at = static_cast<std::size_t>(axis);
  std::int64_t total = 0;
  bool known = true;
  for (std::size_t i = 0; i < c.input_count(); i++) {
    const TensorType x = c.input(i);
    if (!x.ranked) {
      known = false;
      continue;
    }
    if (x.rank() != out.rank())
      c.fail("its inputs have ranks " + std::to_string(out.rank()) + " and " +
             std::to_string(x.rank()));
    for (std::size_t k = 0; k < x.dims.size(); k++) {
      if (k == at) continue;
      if (x.dims[k].known() && out.dims[k].known() && x.dims[k].value != out.dims[k].value)
        c.fail("its inputs " + print(out) + " and " + print(x) + " differ beside the axis");
      if (!out.dims[k].known() && x.dims[k].known()) out.dims[k] = x.dims[k];
    }
    known = known && x.dims[at].known() && !__builtin_add_overflow(total, x.dims[at].value, &total);
  }
  if (c.input_count() > 1 || known) out.dims[at] = known ? Dim(total) : Dim();
  c.output(0, out);
}

Status eval(EvalContext& c) noexcept {
  Shape out = c.input(0).shape;
  const int axis = resolve_axis(c.attributes.integer("axis"), out.rank);
  if (axis < 0) return axis_out_of_range(c.attributes.integer("axis"), out.rank);
  for (std::size_t i = 1; i < c.inputs.size(); i++) {
    const Shape& x = c.input(i).shape;
    bool fits = x.rank == out.rank;
    for (int k = 0; fits && k < x.rank; k++) fits = k == axis || x[k] == out[k];
    if (!fits)
      return Status::error(Code::bad_argument,
                           "input %zu does not have the dims of input 0 beside the axis", i);
    if (__builtin_add_overflow(out[axis], x[axis], &out[axis]))
      return Status::error(Code::exhausted, "too many elements");
  }
  MutableView y;
  LONGSHORE_TRY(c.output(0, out, y));
  const auto size = static_cast<std::int64_t>(size_bytes(y.dtype));
  const std::int64_t outer = out.product(0, axis), row = out.product(axis, out.rank) * size;
  std::int64_t at = 0;
  for (const TensorView& x : c.inputs) {
    const std::int64_t part = x.shape.product(axis, x.shape.rank) * size;
    for (std::int64_t o = 0; o < outer && part > 0; o++)
      std::memcpy(y.as<std::byte>() + o * row + at, x.as<std::byte>() + o * part,
                  static_cast<std::size_t>(part));
    at += part;
  }
  return {};
}

bool same_quant(const QuantView& a, const QuantView& b) {
  return a.count == 1 && b.count == 1 && a.scale[0] == b.scale[0] &&
         a.zero_point[0] == b.zero_point[0];
}

// Codes move unchanged where all scales agree; each other mixture goes through floats.
Status eval_codes(EvalContext& c) noexcept {
  const QuantView to = c.output_quant(0);
  for (const TensorView& x : c.inputs)
    if (!same_quant(x.quant, to) || x.dtype != c.output_dtype(0))
      return eval_dequantised(op_concat, c);
  return eval(c);
}

void facts(const NodeTypes& n, Facts& f) {
  tensor_facts(n, f);
  if (n.input(0).ranked)
    f["axis"] = resolve_axis(n.node.attributes.integer("axis"), n.input(0).rank());
}

/// Beside the axis all inputs have the same dims.
std::int64_t first_dim(const NodeTypes& n) {
  for (ValueId v : n.node.inputs) {
    const TensorType& t = n.graph[v].type;
    if (!t.ranked || t.rank() == 0 || !t.dims[0].known()) continue;
    if (resolve_axis(n.node.attributes.integer("axis"), t.rank()) > 0) return t.dims[0].value;
  }
  return 0;
}

}  // namespace

extern constinit const OpDef op_concat = {
    .name = "Concat",
    .doc = "The inputs one after the other along the axis.",
    .since = 13,
    .schema = {.inputs = {{"inputs", type_set::any, "T", Presence::variadic}},
               .outputs = {{"concat_result", type_set::any, "T"}},
               .attributes = {{"axis", AttributeKind::integer, true}}},
    .infer = infer,
    .eval = eval,
    .eval_quantised = eval_codes,
    .facts = facts,
    .quant = Quant::join,
    .first_dim = first_dim,
    .form =
        [](const NodeTypes& n) {
          return FormSpec{.form = "move",
                          .move = FormSpec::Move::joins,
                          .axis = n.node.attributes.integer("axis")};
        },
    .examples = {"(a: f32[2,3,N], b: f32[2,4,N]) { y = Concat(a, b, axis=-2) return y }",
                 "(a: i64[2], b: i64[0], c: i64[1]) { y = Concat(a, b, c, axis=0) return y }",
                 "(a: i8[1,2] q(0.5, 1), b: i8[1,3] q(0.25, -2)) { y: i8[1,5] q(0.5, 1) = "
                 "Concat(a, b, axis=1) return y }"},
};

}  // namespace longshore::ops
