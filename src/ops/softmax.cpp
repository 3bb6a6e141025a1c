#include "ops/softmax.hpp"

#include "ir/quantised.hpp"
#include "ops/codes.hpp"
#include "tensor/softmax_codes.hpp"

namespace longshore::ops::op_softmax {
extern const OpDef definition;
namespace {

Status eval(EvalContext& c) noexcept {
  return eval_rows(c, []<class T>(const T* from, T* to, std::int64_t count, std::int64_t stride) {
    const auto most = row_maximum(from, count, stride);
    const double sum = row_exponentials(from, count, stride, most);
    for (std::int64_t i = 0; i < count; i++)
      to[i * stride] =
          static_cast<T>(std::exp(static_cast<Compute<T>>(from[i * stride]) - most) / sum);
  });
}

/// Of 16-bit codes into codes of either size.
Status eval_wide(EvalContext& c, int axis) noexcept {
  const TensorView& x = c.input(0);
  const QuantView to = c.output_quant(0);
  MutableView y;
  LONGSHORE_TRY(c.output(0, x.shape, y));
  const Lines lines(x.shape, axis);
  const CodeRange range = code_range(y.dtype);
  const SoftmaxOutput out{to.scale[0], to.zero_point[0], range.lowest, range.highest};
  const WideSoftmaxTable table = wide_softmax_table(x.quant.scale[0]);
  visit_type(TypeList<std::int8_t, std::uint8_t, std::int16_t>{}, y.dtype, [&]<class Out>() {
    lines.each([&](std::int64_t start) {
      wide_softmax_row(x.as<std::int16_t>() + start, y.as<Out>() + start, lines.count, lines.inner,
                       table, out);
    });
  });
  return {};
}

/// Over whole rows of bytes with one scale, or of 16-bit codes; anything else by way of float.
Status eval_quantised(EvalContext& c) noexcept {
  using Bytes = TypeList<std::int8_t, std::uint8_t>;
  const TensorView& x = c.input(0);
  const QuantView to = c.output_quant(0);
  const DType made = c.output_dtype(0);
  const bool wide = x.dtype == DType::i16 && (is_byte(made) || made == DType::i16);
  if (x.quant.count != 1 || to.count != 1 || !(wide || (is_byte(x.dtype) && is_byte(made))))
    return eval_dequantised(definition, c);
  const int axis = resolve_axis(c.attributes.integer("axis", -1), x.shape.rank);
  if (axis < 0 && x.shape.rank > 0) return axis_out_of_range(x.shape.rank);
  if (wide) return eval_wide(c, axis);
  MutableView y;
  LONGSHORE_TRY(c.output(0, x.shape, y));
  const Lines lines(x.shape, axis);
  const CodeRange range = code_range(y.dtype);
  const SoftmaxOutput out{to.scale[0], to.zero_point[0], range.lowest, range.highest};
  const SoftmaxTable table = softmax_table(x.quant.scale[0]);
  visit_type(Bytes{}, x.dtype, [&]<class In>() {
    visit_type(Bytes{}, y.dtype, [&]<class Out>() {
      lines.each([&](std::int64_t start) {
        softmax_row(x.as<In>() + start, y.as<Out>() + start, lines.count, lines.inner, table, out);
      });
    });
  });
  return {};
}

/// Rows are what the axis runs over.
void facts(const NodeTypes& n, Facts& facts) {
  facts_rank(n, facts);
  const TensorType& y = n.output();
  if (!y.ranked || y.rank() == 0) return;
  const int axis = resolve_axis(n.node.attributes.integer("axis", -1), y.rank());
  if (axis >= 0 && y.dims[static_cast<std::size_t>(axis)].known())
    facts["row"] = y.dims[static_cast<std::size_t>(axis)].value;
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "Softmax",
    .doc = "exp(x) over the sum of exp(x) along the axis.",
    .since = 13,
    .schema = {.inputs = {{"input", type_set::float_types, "T"}},
               .outputs = {{"output", type_set::float_types, "T"}},
               .attributes = {{"axis"}}},
    .normalise = normalise_softmax,
    .infer = infer_rows,
    .eval = eval,
    .eval_quantised = eval_quantised,
    .facts = facts,
    .quant = Quant::integer,
    .ignores_low = true,
    .lowest = 0,
    .highest = 1,
    .form =
        [](const NodeTypes& n) {
          return FormSpec{.form = "softmax", .axis = n.node.attributes.integer("axis", -1)};
        },
    .examples = {"(x: f32[2,5]) { y = Softmax(x) return y }",
                 "(x: f16[2,3,4]) { y = Softmax(x, axis=1) return y }",
                 R"((x: i8[2,3,4] q(0.1, 3)) {
      y: i8[2,3,4] q(0.00390625, -128) = Softmax(x, axis=1) return y })",
                 R"((x: u8[3,300] q(0.02, 128)) {
      y: i8[3,300] q(0.0001, -128) = Softmax(x) return y })"},
};

}  // namespace longshore::ops::op_softmax
