// Shared by the matrix products: shapes, the float loop and the integer loop.
#pragma once
#include "ir/quantised.hpp"
#include "ops/elementwise.hpp"
#include "tensor/quant.hpp"

namespace longshore::ops {

/// Distance in elements between rows and between columns.
struct MatrixSteps {
  std::int64_t row = 0, column = 0;
};

/// numpy.matmul's rule as loops: batch walks over pairs of matrices.
struct MatMulPlan {
  Shape output, batch, batch_strides[2];
  std::int64_t m = 1, n = 1, k = 1;
};

/// False where the dims do not fit.
bool plan_matmul(Shape a, Shape b, MatMulPlan& p) noexcept;
Status cannot_multiply();

/// The dims of a product of tensors of these dims, or nothing where they clash.
std::optional<TensorType> matmul_type(const TensorType& a, const TensorType& b, DType dtype);
/// Output 0 is the product of inputs `a` and `b`, of element type `dtype` (undefined: as input a).
void infer_product(InferContext& c, std::size_t a, std::size_t b, DType dtype);

/// The product of sizes for reports; the largest number where it does not fit.
std::int64_t saturating_product(std::initializer_list<std::int64_t> sizes);

/// Floats sum in double, half types in float, integers modulo 2^64.
template <class T>
using ProductSum =
    std::conditional_t<std::is_integral_v<T>, std::uint64_t,
                       std::conditional_t<std::is_same_v<T, float>, double, Compute<T>>>;

/// store(i, j, sum over k of a[i,k] * b[k,j]); the terms are added in the order of k.
template <class T, class Store>
void multiply(const T* a, MatrixSteps sa, const T* b, MatrixSteps sb, std::int64_t m,
              std::int64_t n, std::int64_t k, Store&& store) {
  using Sum = ProductSum<T>;
  constexpr std::int64_t block = 64;  // columns at a time: rows of b are read in order
  for (std::int64_t i = 0; i < m; i++)
    for (std::int64_t j0 = 0; j0 < n; j0 += block) {
      const std::int64_t width = std::min(block, n - j0);
      Sum sum[block] = {};
      for (std::int64_t t = 0; t < k; t++) {
        const auto left = static_cast<Sum>(static_cast<Compute<T>>(a[i * sa.row + t * sa.column]));
        const T* row = b + t * sb.row + j0 * sb.column;
        for (std::int64_t j = 0; j < width; j++)
          sum[j] += left * static_cast<Sum>(static_cast<Compute<T>>(row[j * sb.column]));
      }
      for (std::int64_t j = 0; j < width; j++) store(i, j0 + j, sum[j]);
    }
}

/// Codes minus their zero points; zero points by row of a and column of b, or one for all. Sums
/// wrap around, as hardware's do: int32 ones of codes of at most 8 bits, else int64 ones.
/// store(i, j, sum).
template <class Left = TypeList<std::int8_t, std::uint8_t>, class Right = Left, class Store>
void multiply_codes(const TensorView& a, std::int64_t start_a, MatrixSteps sa,
                    const std::int32_t* zero_a, bool zero_by_row, const TensorView& b,
                    std::int64_t start_b, MatrixSteps sb, const std::int32_t* zero_b,
                    bool zero_by_column, std::int64_t m, std::int64_t n, std::int64_t k,
                    Store&& store) {
  const auto loops = [&]<class A, class B>(const A* x, const B* w) {
    using Sum = std::conditional_t<(sizeof(A) > 1 || sizeof(B) > 1), std::int64_t, std::int32_t>;
    using Unsigned = std::make_unsigned_t<Sum>;
    constexpr std::int64_t block = 64;
    for (std::int64_t i = 0; i < m; i++)
      for (std::int64_t j0 = 0; j0 < n; j0 += block) {
        const std::int64_t width = std::min(block, n - j0);
        Unsigned sum[block] = {};
        std::int32_t zero[block] = {};
        for (std::int64_t j = 0; j < width; j++)
          if (zero_b) zero[j] = zero_b[zero_by_column ? j0 + j : 0];
        const std::int32_t zero_x = zero_a ? zero_a[zero_by_row ? i : 0] : 0;
        for (std::int64_t t = 0; t < k; t++) {
          const Sum left = static_cast<std::int32_t>(x[i * sa.row + t * sa.column]) - zero_x;
          const B* row = w + t * sb.row + j0 * sb.column;
          for (std::int64_t j = 0; j < width; j++)
            sum[j] += static_cast<Unsigned>(
                left * (static_cast<std::int32_t>(row[j * sb.column]) - zero[j]));
        }
        for (std::int64_t j = 0; j < width; j++) store(i, j0 + j, static_cast<Sum>(sum[j]));
      }
  };
  visit_type(Left{}, a.dtype, [&]<class A>() {
    visit_type(Right{}, b.dtype,
               [&]<class B>() { loops(a.as<A>() + start_a, b.as<B>() + start_b); });
  });
}

/// Codes that the quantised products take.
using LeftCodes = TypeList<std::int8_t, std::uint8_t, std::int16_t>;
using RightCodes = TypeList<std::int8_t, std::uint8_t, std::int16_t, Int4>;
inline bool codes_multiply(DType a, DType b) noexcept {
  return visit_type(LeftCodes{}, a, []<class T>() {}) &&
         visit_type(RightCodes{}, b, []<class T>() {});
}

/// One scale for all, or one for each column of b: the forms that integer products take.
struct ColumnScales {
  const float* scale = nullptr;
  const std::int32_t* zero_point = nullptr;
  bool by_column = false;
};
/// False where b's quantisation runs along another axis than its columns.
bool column_scales(const QuantView& q, int column_axis, ColumnScales& out) noexcept;

using MatrixTypes = TypeList<float, double, Float16, BFloat16, std::int32_t, std::int64_t,
                             std::uint32_t, std::uint64_t>;
inline constexpr Types matrix_types =
    type_set::float_types | types(DType::i32, DType::i64, DType::u32, DType::u64);

}  // namespace longshore::ops
