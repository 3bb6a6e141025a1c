#include "ops/elementwise.hpp"

namespace longshore::ops::op_det {
namespace {

void infer(InferContext& c) {
  TensorType y = c.input(0);
  if (y.ranked) {
    if (y.rank() < 2) c.fail("it takes square matrices, not " + print(y));
    const Dim &rows = y.dims[y.dims.size() - 2], &columns = y.dims.back();
    if (rows.known() && columns.known() && rows.value != columns.value)
      c.fail("it takes square matrices, not " + print(y));
    y.dims.resize(y.dims.size() - 2);
  }
  c.output(0, y);
}

/// One matrix in double.
std::size_t scratch(const ScratchContext& c) noexcept {
  const Shape& dims = c.inputs[0].shape;
  return dims.rank < 2 ? 0 : static_cast<std::size_t>(dims.back() * dims.back()) * sizeof(double);
}

/// Gaussian elimination with the largest pivot; destroys the matrix.
double determinant(double* a, std::int64_t n) {
  double result = 1;
  for (std::int64_t k = 0; k < n; k++) {
    std::int64_t pivot = k;
    for (std::int64_t i = k + 1; i < n; i++)
      if (std::fabs(a[i * n + k]) > std::fabs(a[pivot * n + k])) pivot = i;
    if (a[pivot * n + k] == 0) return 0;
    if (pivot != k) {
      std::swap_ranges(a + k * n, a + k * n + n, a + pivot * n);
      result = -result;
    }
    result *= a[k * n + k];
    for (std::int64_t i = k + 1; i < n; i++) {
      const double factor = a[i * n + k] / a[k * n + k];
      for (std::int64_t j = k; j < n; j++) a[i * n + j] -= factor * a[k * n + j];
    }
  }
  return result;
}

Status eval(EvalContext& c) noexcept {
  const TensorView& x = c.input(0);
  const int rank = x.shape.rank;
  if (rank < 2 || x.shape[rank - 2] != x.shape[rank - 1])
    return Status::error(Code::bad_argument, "it takes square matrices");
  Shape dims = x.shape;
  dims.rank -= 2;
  MutableView y;
  LONGSHORE_TRY(c.output(0, dims, y));
  const std::int64_t n = x.shape.back();
  auto* matrix = reinterpret_cast<double*>(c.scratch.data());
  const bool known = visit_type(FloatTypes{}, x.dtype, [&]<class T>() {
    for (std::int64_t m = 0, count = y.elements(); m < count; m++) {
      for (std::int64_t i = 0; i < n * n; i++)
        matrix[i] = static_cast<Compute<T>>(x.as<T>()[m * n * n + i]);
      y.as<T>()[m] = static_cast<T>(determinant(matrix, n));
    }
  });
  return known ? Status{} : wrong_type(x.dtype);
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "Det",
    .doc = "The determinants of the square matrices in the last two dims.",
    .since = 22,
    .schema = {.inputs = {{"X", type_set::float_types, "T"}},
               .outputs = {{"Y", type_set::float_types, "T"}}},
    .infer = infer,
    .scratch = scratch,
    .eval = eval,
    .facts = facts_rank,
    .examples = {"(x: f32[2,3,3]) { y = Det(x) return y }"},
};

}  // namespace longshore::ops::op_det
