#include "ir/quantised.hpp"
#include "ops/movement.hpp"

namespace longshore::ops::op_concat {
extern const OpDef definition;
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

/// The dims of the result, and the axis.
Status joined(const EvalContext& c, Shape& out, int& axis) noexcept {
  out = c.input(0).shape;
  axis = resolve_axis(c.attributes.integer("axis"), out.rank);
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
  return {};
}

/// Calls put(input, first element there, first element of the result, how many).
template <class Put>
void each_part(const EvalContext& c, const Shape& out, int axis, Put&& put) noexcept {
  const std::int64_t outer = out.product(0, axis), row = out.product(axis, out.rank);
  std::int64_t at = 0;
  for (const TensorView& x : c.inputs) {
    const std::int64_t part = x.shape.product(axis, x.shape.rank);
    for (std::int64_t o = 0; o < outer && part > 0; o++) put(x, o * part, o * row + at, part);
    at += part;
  }
}

Status eval(EvalContext& c) noexcept {
  Shape out;
  int axis = 0;
  LONGSHORE_TRY(joined(c, out, axis));
  MutableView y;
  LONGSHORE_TRY(c.output(0, out, y));
  const auto size = static_cast<std::int64_t>(size_bytes(y.dtype));
  each_part(c, out, axis,
            [&](const TensorView& x, std::int64_t from, std::int64_t to, std::int64_t n) {
              std::memcpy(y.as<std::byte>() + to * size, x.as<std::byte>() + from * size,
                          static_cast<std::size_t>(n * size));
            });
  return {};
}

bool same_quant(const QuantView& a, const QuantView& b) {
  return a.count == 1 && b.count == 1 && a.scale[0] == b.scale[0] &&
         a.zero_point[0] == b.zero_point[0];
}

// Codes move unchanged where all scales agree; others are dequantised and quantised one by one.
Status eval_codes(EvalContext& c) noexcept {
  const QuantView to = c.output_quant(0);
  bool same = true;
  for (const TensorView& x : c.inputs)
    same = same && same_quant(x.quant, to) && x.dtype == c.output_dtype(0);
  if (same) return eval(c);
  for (const TensorView& x : c.inputs)
    if ((x.quant.count == 0 && x.dtype != DType::f32) || to.count == 0)
      return eval_dequantised(definition, c);
  Shape out;
  int axis = 0;
  LONGSHORE_TRY(joined(c, out, axis));
  MutableView y;
  LONGSHORE_TRY(c.output(0, out, y));
  const CodeRange range = code_range(y.dtype);
  each_part(
      c, out, axis, [&](const TensorView& x, std::int64_t from, std::int64_t at, std::int64_t n) {
        for (std::int64_t i = 0; i < n; i++) {
          float value = 0;
          if (x.quant.count == 0) {
            value = x.as<float>()[from + i];
          } else {
            const std::int64_t k = quant_index(x.quant, x.shape, from + i);
            value = dequantise(load_code(x, from + i), x.quant.scale[k], x.quant.zero_point[k]);
          }
          const std::int64_t k = quant_index(to, out, at + i);
          store_code(y, at + i,
                     quantise(value, to.scale[k], to.zero_point[k], range.lowest, range.highest));
        }
      });
  return {};
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

extern constinit const OpDef definition = {
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

}  // namespace longshore::ops::op_concat
