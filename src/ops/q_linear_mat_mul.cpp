#include "ops/codes.hpp"
#include "ops/matmul.hpp"
#include "tensor/convert.hpp"

namespace longshore::ops::op_q_linear_mat_mul {
namespace {

/// Zero points of a and b as int32, then scales of a and b as float.
std::size_t scratch(const ScratchContext& c) noexcept {
  std::int64_t count = 4;
  for (std::size_t i = 1; i < c.inputs.size(); i++) count += c.inputs[i].elements();
  return static_cast<std::size_t>(count) * sizeof(float);
}

void infer(InferContext& c) { infer_product(c, 0, 3, c.input(7).dtype); }

Status eval(EvalContext& c) noexcept {
  const TensorView &a = c.input(0), &b = c.input(3);
  MatMulPlan p;
  if (!plan_matmul(a.shape, b.shape, p)) return cannot_multiply();
  const std::int64_t rows = c.input(1).elements(), columns = c.input(4).elements();
  const bool fits = (rows == 1 || rows == p.m) && (columns == 1 || columns == p.n) &&
                    c.input(2).elements() == rows && c.input(5).elements() == columns &&
                    c.input(6).elements() == 1 && c.input(7).elements() == 1;
  if (!fits)
    return Status::error(Code::unsupported,
                         "scales must be one for all, or one for each row of a and column of b");
  if (!is_byte(a.dtype) || !is_byte(b.dtype) || !is_byte(c.output_dtype(0)))
    return Status::error(Code::unsupported, "QLinearMatMul of types other than u8 and i8");
  auto* zero_a = reinterpret_cast<std::int32_t*>(c.scratch.data());
  auto* zero_b = zero_a + rows;
  auto* scale_a = reinterpret_cast<float*>(zero_b + columns);
  float* scale_b = scale_a + rows;
  for (std::int64_t i = 0; i < rows; i++) {
    zero_a[i] = load_code(c.input(2), i);
    scale_a[i] = static_cast<float>(load_real(c.input(1), i));
  }
  for (std::int64_t i = 0; i < columns; i++) {
    zero_b[i] = load_code(c.input(5), i);
    scale_b[i] = static_cast<float>(load_real(c.input(4), i));
  }
  const auto scale_y = static_cast<float>(load_real(c.input(6), 0));
  const std::int32_t zero_y = load_code(c.input(7), 0);
  MutableView y;
  LONGSHORE_TRY(c.output(0, p.output, y));
  const CodeRange range = code_range(y.dtype);
  Walk<2> walk(p.batch, p.batch_strides);
  for (std::int64_t i = 0, count = p.batch.elements(); i < count; i++, walk.next())
    multiply_codes(
        a, walk.offset(0), {p.k, 1}, zero_a, rows > 1, b, walk.offset(1), {p.n, 1}, zero_b,
        columns > 1, p.m, p.n, p.k, [&](std::int64_t row, std::int64_t column, std::int32_t sum) {
          const Multiplier m = make_multiplier(scale_a[rows > 1 ? row : 0],
                                               scale_b[columns > 1 ? column : 0], scale_y);
          store_code(y, (i * p.m + row) * p.n + column,
                     requantise(sum, m, zero_y, range.lowest, range.highest, c.rounding));
        });
  return {};
}

constexpr Types bytes = types(DType::u8, DType::i8),
                scales = types(DType::f32, DType::f16, DType::bf16);

}  // namespace

extern constinit const OpDef definition = {
    .name = "QLinearMatMul",
    .doc =
        "The product of 8-bit matrices, requantised; scales and zero points may come at run time.",
    .since = 21,
    .schema = {.inputs = {{"a", bytes, "T1"},
                          {"a_scale", scales, "TS", Presence::required, InputRole::scale},
                          {"a_zero_point", bytes, "T1", Presence::required, InputRole::zero_point},
                          {"b", bytes, "T2", Presence::required, InputRole::weights_or_data},
                          {"b_scale", scales, "TS", Presence::required, InputRole::scale},
                          {"b_zero_point", bytes, "T2", Presence::required, InputRole::zero_point},
                          {"y_scale", scales, "TS", Presence::required, InputRole::output_scale},
                          {"y_zero_point", bytes, "T3", Presence::required,
                           InputRole::output_zero_point}},
               .outputs = {{"y", bytes, "T3"}}},
    .infer = infer,
    .scratch = scratch,
    .eval = eval,
    .facts = facts_rank,
    .weight_axis = [](const NodeTypes& n) { return n.input(3).rank() - 1; },
    .on_codes = "MatMul",
    .examples =
        {"(a: u8[2,3], b: i8[3,4], s: f32[]) { y = QLinearMatMul(a, f32[]{0.5}, u8[]{3}, b, "
         "f32[4]{0.5, 1, 0.25, 2}, i8[4]{0}, f32[]{2}, u8[]{128}) return y }"},
};

}  // namespace longshore::ops::op_q_linear_mat_mul
