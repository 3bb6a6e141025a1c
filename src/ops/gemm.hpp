// Gemm and FusedGemm: y = activation(alpha * A' * B' + beta * C). The A of FusedGemm may have more
// than two dims: all but the last are rows.
#pragma once
#include "base/error.hpp"
#include "ops/matmul.hpp"
#include "tensor/activation.hpp"
#include "tensor/convert.hpp"

namespace longshore::ops {

struct GemmPlan {
  Shape output;
  std::int64_t m = 0, n = 0, k = 0;
  MatrixSteps a, b;
};

/// False where the dims do not fit.
bool plan_gemm(const Shape& a, const Shape& b, const Attributes& attributes, GemmPlan& p) noexcept;

/// `most_rank`: of A.
void infer_gemm(InferContext& c, int most_rank);

Status eval_gemm(EvalContext& c) noexcept;

/// y = requantise(sum((a - zero_a) * (b - zero_b)) + bias, scale_a * scale_b[column] / scale_y,
/// zero_y) into the codes that the activation allows. Other cases take the default way.
Status eval_gemm_quantised(const OpDef& op, EvalContext& c) noexcept;

std::optional<GemmPlan> gemm_plan_of(const NodeTypes& n);
void facts_gemm(const NodeTypes& n, Facts& facts);
std::int64_t macs_gemm(const NodeTypes& n);

FormSpec gemm_form(const NodeTypes& n);

Tensor scaled(const Tensor& t, float factor);
Tensor transposed(const Tensor& t);

/// For quantisation: B to transB=1, alpha into B, beta into C, C to a vector.
void fold_gemm_factors(Node& n, Rewriter& r);

}  // namespace longshore::ops
