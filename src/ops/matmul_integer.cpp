#include "ops/matmul.hpp"

namespace longshore::ops::op_matmul_integer {
namespace {

/// Zero points in scratch as int32: rows of a, then columns of b.
std::size_t scratch(const ScratchContext& c) noexcept {
  std::int64_t count = 2;
  for (std::size_t i = 2; i < c.inputs.size(); i++)
    if (c.inputs[i].dtype != DType::undefined) count += c.inputs[i].elements();
  return static_cast<std::size_t>(count) * sizeof(std::int32_t);
}

void infer(InferContext& c) { infer_product(c, 0, 1, DType::i32); }

Status eval(EvalContext& c) noexcept {
  const TensorView &a = c.input(0), &b = c.input(1), &zero_a = c.input(2), &zero_b = c.input(3);
  MatMulPlan p;
  if (!plan_matmul(a.shape, b.shape, p)) return cannot_multiply();
  const std::int64_t rows = zero_a.present() ? zero_a.elements() : 1,
                     columns = zero_b.present() ? zero_b.elements() : 1;
  if ((rows != 1 && rows != p.m) || (columns != 1 && columns != p.n))
    return Status::error(
        Code::unsupported,
        "zero points must be one for all, or one for each row of A and column of B");
  auto* za = reinterpret_cast<std::int32_t*>(c.scratch.data());
  auto* zb = za + rows;
  for (std::int64_t i = 0; i < rows; i++) za[i] = zero_a.present() ? load_code(zero_a, i) : 0;
  for (std::int64_t i = 0; i < columns; i++) zb[i] = zero_b.present() ? load_code(zero_b, i) : 0;
  MutableView y;
  LONGSHORE_TRY(c.output(0, p.output, y));
  Walk<2> walk(p.batch, p.batch_strides);
  for (std::int64_t i = 0, count = p.batch.elements(); i < count; i++, walk.next())
    multiply_codes(a, walk.offset(0), {p.k, 1}, za, rows > 1, b, walk.offset(1), {p.n, 1}, zb,
                   columns > 1, p.m, p.n, p.k,
                   [&](std::int64_t row, std::int64_t column, std::int32_t sum) {
                     y.as<std::int32_t>()[(i * p.m + row) * p.n + column] = sum;
                   });
  return {};
}

constexpr Types bytes = types(DType::u8, DType::i8);

}  // namespace

extern constinit const OpDef definition = {
    .name = "MatMulInteger",
    .doc = "The product of 8-bit matrices minus their zero points, in int32.",
    .since = 10,
    .schema = {.inputs = {{"A", bytes, "T1"},
                          {"B", bytes, "T2"},
                          {"a_zero_point", bytes, "T1", Presence::optional},
                          {"b_zero_point", bytes, "T2", Presence::optional}},
               .outputs = {{"Y", types(DType::i32)}}},
    .infer = infer,
    .scratch = scratch,
    .eval = eval,
    .facts = facts_rank,
    .examples = {"(a: u8[2,3], b: i8[3,4]) { y = MatMulInteger(a, b, u8[]{12}) return y }",
                 "(a: u8[2,3], b: i8[5,3,4]) { y = MatMulInteger(a, b, u8[2]{1, 2}, i8[4]{1, -2, "
                 "3, 4}) return y }"},
};

}  // namespace longshore::ops::op_matmul_integer
