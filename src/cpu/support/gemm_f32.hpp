#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "cpu/gemm_f32.inner.hpp"
#include "cpu/support/activation.hpp"

namespace longshore::cpu {

/// Depth of one pass: a strip of A then fits L1, a panel of B streams from L2.
inline constexpr std::int64_t gemm_depth = 384;
/// Rows of A that one thread packs at a time.
inline constexpr std::int64_t gemm_block_rows = 96;

/// A matrix with strides in elements.
struct MatrixF32 {
  const float* data = nullptr;
  std::int64_t row_stride = 0, column_stride = 0;
};

/// B[k x n] as panels of `columns`, each [k][columns], the last one padded with zeros.
std::int64_t packed_b_floats(const GemmF32&, std::int64_t k, std::int64_t n);
void pack_b(const GemmF32&, const MatrixF32& b, std::int64_t k, std::int64_t n, float scale,
            float* to);

/// A[m x k] as strips of `rows`, each [k][its rows]: m * k floats.
void pack_a(const GemmF32&, const MatrixF32& a, std::int64_t m, std::int64_t k, float* to);

/// C[m x n] = activation(A * B + start), with B packed.
struct GemmProblemF32 {
  std::int64_t m = 0, n = 0, k = 0;
  MatrixF32 a;
  const float* packed_b = nullptr;
  float* c = nullptr;
  std::int64_t c_stride = 0;
  const float* row_start = nullptr;     // m
  const float* column_start = nullptr;  // n
  bool accumulate = false;              // start with C
  BoundActivation activation;
};
std::size_t gemm_scratch_bytes(int threads) noexcept;
void gemm(const GemmF32&, const GemmProblemF32&, ThreadPool&,
          std::span<std::byte> scratch) noexcept;
/// The same on the calling thread, for use inside a chunk; scratch of one thread.
void gemm_here(const GemmF32&, const GemmProblemF32&, float* scratch) noexcept;

}  // namespace longshore::cpu
