#include "ops/norm_codes.hpp"

#include "ir/quantised.hpp"
#include "ops/codes.hpp"
#include "tensor/norm_codes.hpp"

namespace longshore::ops {
namespace {

using Codes = TypeList<std::int8_t, std::uint8_t, std::int16_t>;

bool has_codes(DType t) { return is_byte(t) || t == DType::i16; }

/// One plain float for each element of a row.
bool row_of_floats(const TensorView& v, const Shape& row) {
  return v.dtype == DType::f32 && v.quant.count == 0 && v.shape == row;
}

}  // namespace

Status eval_norm_quantised(const OpDef& op, EvalContext& c, bool subtract_mean, int bias) noexcept {
  const TensorView &x = c.input(0), &scale = c.input(1);
  const TensorView& added = c.input(static_cast<std::size_t>(bias < 0 ? 2 : bias));
  const QuantView to = c.output_quant(0);
  const int axis = resolve_axis(c.attributes.integer("axis", -1), x.shape.rank);
  Shape row;
  for (int i = axis; i >= 0 && i < x.shape.rank; i++) row.push(x.shape[i]);
  const std::int64_t count = row.elements();
  if (axis < 0 || x.quant.count != 1 || to.count != 1 || !has_codes(x.dtype) ||
      !has_codes(c.output_dtype(0)) || (x.dtype == DType::i16 && x.quant.zero_point[0] != 0) ||
      count > most_norm_row || !row_of_floats(scale, row) ||
      (added.present() && !row_of_floats(added, row)) || c.wants(1) || c.wants(2))
    return eval_dequantised(op, c);
  MutableView y;
  LONGSHORE_TRY(c.output(0, x.shape, y));
  const NormCodes n =
      norm_codes(x.quant, to, y.dtype, c.attributes.real("epsilon", 1e-5f), subtract_mean);
  const float* biases = added.present() ? added.as<float>() : nullptr;
  visit_type(Codes{}, x.dtype, [&]<class In>() {
    visit_type(Codes{}, y.dtype, [&]<class Out>() {
      for (std::int64_t at = 0; count > 0 && at < x.elements(); at += count)
        norm_row(x.as<In>() + at, y.as<Out>() + at, count, scale.as<float>(), biases, n);
    });
  });
  return {};
}

void norm_facts(const NodeTypes& n, Facts& facts) {
  facts_rank(n, facts);
  const std::optional<Shape> y = n.output().shape();
  if (!y) return;
  const int axis = resolve_axis(n.node.attributes.integer("axis", -1), y->rank);
  if (axis >= 0) facts["row"] = y->product(axis, y->rank);
}

FormSpec norm_form(const NodeTypes& n, std::string_view function, int bias) {
  FormSpec s{.form = "norm", .function = function, .weights = 1, .bias = bias};
  s.axis = n.node.attributes.integer("axis", -1);
  s.epsilon = n.node.attributes.real("epsilon", 1e-5f);
  return s;
}

}  // namespace longshore::ops
