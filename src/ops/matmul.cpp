#include "ops/matmul.hpp"

namespace longshore::ops::op_matmul {

extern const OpDef definition;

namespace {

void infer(InferContext& c) { infer_product(c, 0, 1, DType::undefined); }

Status eval(EvalContext& c) noexcept {
  const TensorView &a = c.input(0), &b = c.input(1);
  MatMulPlan p;
  if (!plan_matmul(a.shape, b.shape, p)) return cannot_multiply();
  MutableView y;
  LONGSHORE_TRY(c.output(0, p.output, y));
  const bool known = visit_type(MatrixTypes{}, a.dtype, [&]<class T>() {
    Walk<2> walk(p.batch, p.batch_strides);
    T* to = y.as<T>();
    for (std::int64_t i = 0, count = p.batch.elements(); i < count;
         i++, walk.next(), to += p.m * p.n)
      multiply(a.as<T>() + walk.offset(0), {p.k, 1}, b.as<T>() + walk.offset(1), {p.n, 1}, p.m, p.n,
               p.k, [&](std::int64_t row, std::int64_t column, auto sum) {
                 to[row * p.n + column] = static_cast<T>(sum);
               });
  });
  return known ? Status{} : wrong_type(a.dtype);
}

/// y = requantise(sum((a - zero_a) * (b - zero_b)), scale_a * scale_b[column] / scale_y, zero_y).
Status eval_quantised(EvalContext& c) noexcept {
  const TensorView &a = c.input(0), &b = c.input(1);
  const QuantView to = c.output_quant(0);
  ColumnScales scales;
  if (!codes_multiply(a.dtype, b.dtype) || a.quant.count != 1 || to.count != 1 ||
      !column_scales(b.quant, b.shape.rank - 1, scales) || (scales.by_column && b.shape.rank < 2))
    return eval_dequantised(definition, c);
  MatMulPlan p;
  if (!plan_matmul(a.shape, b.shape, p)) return cannot_multiply();
  MutableView y;
  LONGSHORE_TRY(c.output(0, p.output, y));
  const CodeRange range = code_range(y.dtype);
  Walk<2> walk(p.batch, p.batch_strides);
  for (std::int64_t i = 0, count = p.batch.elements(); i < count; i++, walk.next())
    multiply_codes<LeftCodes, RightCodes>(
        a, walk.offset(0), {p.k, 1}, a.quant.zero_point, false, b, walk.offset(1), {p.n, 1},
        scales.zero_point, scales.by_column, p.m, p.n, p.k,
        [&](std::int64_t row, std::int64_t column, auto sum) {
          const float scale = scales.scale[scales.by_column ? column : 0];
          const Multiplier m = make_multiplier(a.quant.scale[0], scale, to.scale[0]);
          store_code(y, (i * p.m + row) * p.n + column,
                     requantise(sum, m, to.zero_point[0], range.lowest, range.highest, c.rounding));
        });
  return {};
}

std::optional<MatMulPlan> plan(const NodeTypes& n) {
  const std::optional<Shape> a = n.input(0).shape(), b = n.input(1).shape();
  MatMulPlan p;
  if (!a || !b || !plan_matmul(*a, *b, p)) return {};
  return p;
}

void facts(const NodeTypes& n, Facts& facts) {
  if (n.output().ranked) facts["rank"] = n.output().rank();
  if (const std::optional<MatMulPlan> p = plan(n)) {
    facts["in_channels"] = p->k;
    facts["out_channels"] = p->n;
    facts["rows"] = p->m;
    facts["batch"] = p->batch.elements();
  }
}

std::int64_t macs(const NodeTypes& n) {
  const std::optional<MatMulPlan> p = plan(n);
  return p ? saturating_product({p->batch.elements(), p->m, p->n, p->k}) : 0;
}

/// With constant weights, as the integer FusedGemm needs them.
std::string_view fused(const NodeTypes& n) {
  const bool gemm = n.graph.constant(n.node.input(1)) && n.input(1).rank() == 2 &&
                    n.input(0).ranked && n.input(0).rank() >= 2;
  return gemm ? "com.microsoft.FusedGemm" : "";
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "MatMul",
    .doc = "The matrix product over the last two dims; the others are broadcast as numpy does.",
    .since = 13,
    .schema = {.inputs = {{"A", matrix_types, "T"},
                          {"B", matrix_types, "T", Presence::required, InputRole::weights_or_data}},
               .outputs = {{"Y", matrix_types, "T"}}},
    .infer = infer,
    .eval = eval,
    .eval_quantised = eval_quantised,
    .facts = facts,
    .macs = macs,
    .quant = Quant::integer,
    .channels = Channels::product,
    .weight_axis =
        [](const NodeTypes& n) { return n.input(1).rank() < 2 ? -1 : n.input(1).rank() - 1; },
    .fused = fused,
    .form =
        [](const NodeTypes& n) {
          const int computed = n.graph.constant(n.node.input(1)) ? -1 : 1;
          return FormSpec{.form = "mac", .other = computed, .weights = 1, .weights_by_input = true};
        },
    .float_rtol = 1e-4f,  // the order of the sum is free
    .float_atol = 1e-4f,
    .examples = {"(a: f32[2,3,4], b: f32[4,5]) { y = MatMul(a, b) return y }",
                 "(a: f32[4], b: f32[2,4,3]) { y = MatMul(a, b) return y }",
                 "(a: i32[2,1,3,4], b: i32[5,4,1]) { y = MatMul(a, b) return y }",
                 "(a: f16[3,4], b: f16[4]) { y = MatMul(a, b) return y }",
                 "(a: i8[3,4] q(0.5, 3), b: i8[4,2] q(0.25, -1)) { y: i8[3,2] q(2, 4) = MatMul(a, "
                 "b) return y }",
                 "(a: i8[3,2] q(0.5, 3)) { y: i8[3,2] q(2, 4) = "
                 "MatMul(a, i8[2,2] q([0.25, 0.5], [0, 0], axis=1) {1, -2, 3, 4}) return y }"},
};

}  // namespace longshore::ops::op_matmul
