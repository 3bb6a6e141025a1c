#include "ops/gemm.hpp"

namespace longshore::ops {
namespace {

/// By how many elements the bias goes on with each row and column of the product; all of `dims`
/// where there is none.
Status bias_steps(const TensorView& bias, const Shape& dims, Shape& steps) noexcept {
  steps = dims;
  if (!bias.present()) return {};
  Shape with_bias = dims;
  if (!broadcast_shape(dims, bias.shape, with_bias) || !(with_bias == dims))
    return cannot_broadcast();
  steps = broadcast_strides(bias.shape, dims);
  return {};
}

}  // namespace

bool plan_gemm(const Shape& a, const Shape& b, const Attributes& attributes, GemmPlan& p) noexcept {
  const bool flip_a = attributes.integer("transA") != 0, flip_b = attributes.integer("transB") != 0;
  if (a.rank < 2 || (a.rank > 2 && flip_a) || b.rank != 2) return false;
  p.m = flip_a ? a[1] : a.product(0, a.rank - 1);
  p.k = flip_a ? a[0] : a.back();
  p.n = b[flip_b ? 0 : 1];
  p.output = a;
  if (flip_a) p.output[0] = a[1];
  p.output[a.rank - 1] = p.n;
  p.a = flip_a ? MatrixSteps{1, p.m} : MatrixSteps{p.k, 1};
  p.b = flip_b ? MatrixSteps{1, p.k} : MatrixSteps{p.n, 1};
  return b[flip_b ? 1 : 0] == p.k;
}

void infer_gemm(InferContext& c, int most_rank) {
  const TensorType a = c.input(0), b = c.input(1), bias = c.input(2);
  const bool flip_a = c.attributes().integer("transA") != 0;
  const std::size_t column = c.attributes().integer("transB") != 0 ? 0 : 1;
  if ((a.ranked && (a.rank() < 2 || a.rank() > (flip_a ? 2 : most_rank))) ||
      (b.ranked && b.rank() != 2))
    c.fail("it takes matrices, not " + print(a) + " and " + print(b));
  if (!a.ranked && most_rank > 2) return c.output(0, TensorType::unranked(a.dtype));
  TensorType y(a.dtype, a.ranked ? a.dims : Dims(2));
  if (flip_a && a.ranked) y.dims[0] = a.dims[1];
  y.dims.back() = b.ranked ? b.dims[column] : Dim();
  if (a.ranked && b.ranked) {
    const Dim &k = flip_a ? a.dims[0] : a.dims.back(), &l = b.dims[1 - column];
    if (k.known() && l.known() && k.value != l.value)
      c.fail("its inputs of " + print(a) + " and " + print(b) + " cannot be multiplied");
  }
  if (c.has(2) && bias.ranked) {
    const std::optional<Dims> dims = broadcast_dims(y.dims, bias.dims);
    if (!dims || dims->size() != y.dims.size() || (y.rank() > 2 && bias.rank() > 1))
      c.fail("its bias of " + print(bias) + " cannot be broadcast to " + print(y));
  }
  c.output(0, y);
}

Status eval_gemm(EvalContext& c) noexcept {
  const TensorView &a = c.input(0), &b = c.input(1), &bias = c.input(2);
  GemmPlan p;
  if (!plan_gemm(a.shape, b.shape, c.attributes, p)) return cannot_multiply();
  const Shape dims{p.m, p.n};
  Shape steps;
  LONGSHORE_TRY(bias_steps(bias, dims, steps));
  Activation activation;
  LONGSHORE_TRY(Activation::from(c.attributes, activation));
  const double alpha = c.attributes.real("alpha", 1.0f), beta = c.attributes.real("beta", 1.0f);
  MutableView y;
  LONGSHORE_TRY(c.output(0, p.output, y));
  const bool known = visit_type(MatrixTypes{}, a.dtype, [&]<class T>() {
    multiply(a.as<T>(), p.a, b.as<T>(), p.b, p.m, p.n, p.k,
             [&](std::int64_t i, std::int64_t j, auto sum) {
               const std::int64_t at = i * steps[0] + j * steps[1];
               T& to = y.as<T>()[i * p.n + j];
               if constexpr (std::is_integral_v<T>) {
                 if (alpha == 1 && beta == 1) {
                   to = static_cast<T>(
                       sum + (bias.present() ? static_cast<std::uint64_t>(bias.as<T>()[at]) : 0));
                   return;
                 }
                 double value = alpha * static_cast<double>(static_cast<T>(sum));
                 if (bias.present()) value += beta * static_cast<double>(bias.as<T>()[at]);
                 to = convert<T>(value);
               } else {
                 double value = alpha * static_cast<double>(sum);
                 if (bias.present())
                   value += beta * static_cast<double>(static_cast<Compute<T>>(bias.as<T>()[at]));
                 to = static_cast<T>(activation(static_cast<Compute<T>>(value)));
               }
             });
  });
  return known ? Status{} : wrong_type(a.dtype);
}

Status eval_gemm_quantised(const OpDef& op, EvalContext& c) noexcept {
  const TensorView &a = c.input(0), &b = c.input(1), &bias = c.input(2);
  const QuantView to = c.output_quant(0);
  const bool flip_b = c.attributes.integer("transB") != 0;
  ColumnScales scales;
  Activation activation;
  LONGSHORE_TRY(Activation::from(c.attributes, activation));
  const bool plain = c.attributes.real("alpha", 1.0f) == 1 && c.attributes.real("beta", 1.0f) == 1;
  CodeRange range = code_range(c.output_dtype(0));  // no structured binding: lambdas capture it
  GemmPlan p;
  if (!plain || !codes_multiply(a.dtype, b.dtype) || a.quant.count != 1 || to.count != 1 ||
      !column_scales(b.quant, flip_b ? 0 : 1, scales) ||
      (bias.present() && (bias.dtype != DType::i32 || bias.quant.count == 0)) ||
      !activation.narrows())
    return eval_dequantised(op, c);
  activation.narrow(to.scale[0], to.zero_point[0], range.lowest, range.highest);
  if (!plan_gemm(a.shape, b.shape, c.attributes, p)) return cannot_multiply();
  const Shape dims{p.m, p.n};
  Shape steps;
  LONGSHORE_TRY(bias_steps(bias, dims, steps));
  MutableView y;
  LONGSHORE_TRY(c.output(0, p.output, y));
  multiply_codes<LeftCodes, RightCodes>(
      a, 0, p.a, a.quant.zero_point, false, b, 0, p.b, scales.zero_point, scales.by_column, p.m,
      p.n, p.k, [&]<class Sum>(std::int64_t i, std::int64_t j, Sum sum) {
        using Unsigned = std::make_unsigned_t<Sum>;
        auto total = static_cast<Unsigned>(sum);
        if (bias.present())
          total += static_cast<Unsigned>(Sum{bias.as<std::int32_t>()[i * steps[0] + j * steps[1]]});
        const float scale = scales.scale[scales.by_column ? j : 0];
        const Multiplier m = make_multiplier(a.quant.scale[0], scale, to.scale[0]);
        store_code(y, i * p.n + j,
                   requantise(static_cast<Sum>(total), m, to.zero_point[0], range.lowest,
                              range.highest, c.rounding));
      });
  return {};
}

std::optional<GemmPlan> gemm_plan_of(const NodeTypes& n) {
  const std::optional<Shape> a = n.input(0).shape(), b = n.input(1).shape();
  GemmPlan p;
  if (!a || !b || !plan_gemm(*a, *b, n.node.attributes, p)) return {};
  return p;
}

void facts_gemm(const NodeTypes& n, Facts& facts) {
  if (n.output().ranked) facts["rank"] = n.output().rank();
  if (const std::optional<GemmPlan> p = gemm_plan_of(n)) {
    facts["in_channels"] = p->k;
    facts["out_channels"] = p->n;
    facts["rows"] = p->m;
    facts["batch"] = 1;
  }
}

std::int64_t macs_gemm(const NodeTypes& n) {
  const std::optional<GemmPlan> p = gemm_plan_of(n);
  return p ? saturating_product({p->m, p->n, p->k}) : 0;
}

FormSpec gemm_form(const NodeTypes& n) {
  FormSpec s{.form = "mac", .weights = 1};
  const Attributes& a = n.node.attributes;
  if (n.node.input(2) != no_value) s.bias = 2;
  s.weights_by_input = a.integer("transB") == 0;
  if (!n.graph.constant(n.node.input(1))) s.other = 1;
  if (a.integer("transA") != 0) s.refuse("transA", std::to_string(a.integer("transA")), "0");
  for (const char* factor : {"alpha", "beta"})
    if (a.real(factor, 1) != 1 && (s.bias >= 0 || factor[0] == 'a'))
      s.refuse(factor, str(a.real(factor, 1)), "1");
  if (const Status known = Activation::from(a, s.activation); !known.ok())
    s.refuse("activation", std::string(a.text("activation")), "one that is known");
  return s;
}

Tensor scaled(const Tensor& t, float factor) {
  std::vector<float> values(t.values<float>().begin(), t.values<float>().end());
  for (float& x : values) x *= factor;
  return make_floats(t.shape, values);
}

Tensor transposed(const Tensor& t) {
  const std::int64_t rows = t.shape[0], columns = t.shape[1];
  std::vector<float> values;
  values.reserve(static_cast<std::size_t>(rows * columns));
  for (std::int64_t j = 0; j < columns; j++)
    for (std::int64_t i = 0; i < rows; i++)
      values.push_back(t.values<float>()[static_cast<std::size_t>(i * columns + j)]);
  return make_floats(Shape{columns, rows}, values);
}

void fold_gemm_factors(Node& n, Rewriter& r) {
  const Graph& g = r.graph();
  const Tensor* b = g.constant(n.input(1));
  if (!b || b->dtype != DType::f32 || b->shape.rank != 2 || n.attributes.integer("transA", 0) != 0)
    return;
  const bool transposed_already = n.attributes.integer("transB", 0) != 0;
  const std::int64_t channels = b->shape[transposed_already ? 0 : 1];
  if (n.input(2) != no_value) {
    const Tensor* c = g.constant(n.input(2));
    if (!c || c->dtype != DType::f32) return;
    const bool vector =
        c->elements() == 1 || (c->elements() == channels && c->shape.back() == channels);
    if (!vector) return;
  }
  const float alpha = n.attributes.real("alpha", 1), beta = n.attributes.real("beta", 1);
  if (!transposed_already || alpha != 1) {
    n.inputs[1] = r.constant(scaled(transposed_already ? *b : transposed(*b), alpha));
    n.attributes.set("transB", std::int64_t{1});
    n.attributes.erase("alpha");
  }
  if (n.input(2) == no_value) {
    n.attributes.erase("beta");
    return;
  }
  const Tensor* c = g.constant(n.inputs[2]);
  if (beta != 1 || c->shape.rank != 1 || c->elements() != channels) {
    const Tensor bias = scaled(*c, beta);
    std::vector<float> values(bias.values<float>().begin(), bias.values<float>().end());
    values.resize(static_cast<std::size_t>(channels), values[0]);
    n.inputs[2] = r.constant(make_floats(Shape{channels}, values));
    n.attributes.erase("beta");
  }
}

}  // namespace longshore::ops
