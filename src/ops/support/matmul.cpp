#include "ops/matmul.hpp"

namespace longshore::ops {

bool plan_matmul(Shape a, Shape b, MatMulPlan& p) noexcept {
  if (a.rank == 0 || b.rank == 0) return false;
  const bool vector_a = a.rank == 1, vector_b = b.rank == 1;
  if (vector_a) a = Shape{1, a[0]};
  if (vector_b) b = Shape{b[0], 1};
  p.m = a[a.rank - 2], p.k = a.back(), p.n = b.back();
  if (b[b.rank - 2] != p.k) return false;
  Shape batch_a = a, batch_b = b;
  batch_a.rank -= 2, batch_b.rank -= 2;
  if (!broadcast_shape(batch_a, batch_b, p.batch)) return false;
  p.batch_strides[0] = broadcast_strides(batch_a, p.batch);
  p.batch_strides[1] = broadcast_strides(batch_b, p.batch);
  for (std::int64_t& s : p.batch_strides[0]) s *= p.m * p.k;
  for (std::int64_t& s : p.batch_strides[1]) s *= p.k * p.n;
  p.output = p.batch;
  if (!vector_a) p.output.push(p.m);
  if (!vector_b) p.output.push(p.n);
  return true;
}

Status cannot_multiply() {
  return Status::error(Code::bad_argument, "the dims of the two matrices do not fit each other");
}

std::optional<TensorType> matmul_type(const TensorType& a, const TensorType& b, DType dtype) {
  if (!a.ranked || !b.ranked) return TensorType::unranked(dtype);
  if (a.rank() == 0 || b.rank() == 0) return {};
  Dims x = a.dims, y = b.dims;
  if (a.rank() == 1) x.insert(x.begin(), Dim(1));
  if (b.rank() == 1) y.emplace_back(1);
  const Dim &k = x.back(), &l = y[y.size() - 2];
  if (k.known() && l.known() && k.value != l.value) return {};
  const std::optional<Dims> batch =
      broadcast_dims(Dims(x.begin(), x.end() - 2), Dims(y.begin(), y.end() - 2));
  if (!batch) return {};
  TensorType out(dtype, *batch);
  if (a.rank() > 1) out.dims.push_back(x[x.size() - 2]);
  if (b.rank() > 1) out.dims.push_back(y.back());
  return out;
}

void infer_product(InferContext& c, std::size_t a, std::size_t b, DType dtype) {
  const TensorType x = c.input(a), y = c.input(b);
  const std::optional<TensorType> out =
      matmul_type(x, y, dtype == DType::undefined ? x.dtype : dtype);
  if (!out) c.fail("its inputs of " + print(x) + " and " + print(y) + " cannot be multiplied");
  c.output(0, *out);
}

std::int64_t saturating_product(std::initializer_list<std::int64_t> sizes) {
  std::int64_t product = 1;
  for (std::int64_t size : sizes)
    if (__builtin_mul_overflow(product, size, &product)) return INT64_MAX;
  return product;
}

bool column_scales(const QuantView& q, int column_axis, ColumnScales& out) noexcept {
  out = {q.scale, q.zero_point, q.count > 1};
  return q.count == 1 || q.along(column_axis);
}

}  // namespace longshore::ops
