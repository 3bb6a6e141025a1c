#include "cpu/support/gemm_f32.hpp"

#include <cstring>

namespace longshore::cpu {
namespace {

constexpr std::size_t scratch_floats = static_cast<std::size_t>(gemm_block_rows * gemm_depth) + 64;

/// One strip of A from column k0: [depth][rows].
void pack_strip(const MatrixF32& a, std::int64_t row, std::int64_t rows, std::int64_t k0,
                std::int64_t depth, float* to) {
  for (std::int64_t i = 0; i < rows; i++) {
    const float* from = a.data + (row + i) * a.row_stride + k0 * a.column_stride;
    if (a.column_stride == 1)
      for (std::int64_t k = 0; k < depth; k++) to[k * rows + i] = from[k];
    else
      for (std::int64_t k = 0; k < depth; k++) to[k * rows + i] = from[k * a.column_stride];
  }
}

/// Rows [row, row + rows) and panels [panel, panel_end) of C.
void block(const GemmF32& f, const GemmProblemF32& g, std::int64_t row, std::int64_t rows,
           std::int64_t panel, std::int64_t panel_end, float* scratch) noexcept {
  const auto mr = static_cast<std::int64_t>(f.rows), nr = static_cast<std::int64_t>(f.columns);
  // One row needs no packing and no passes: its sums live in registers all the way.
  const bool as_is = rows == 1 && g.a.column_stride == 1;
  const std::int64_t step = as_is ? std::max<std::int64_t>(g.k, 1) : gemm_depth;
  for (std::int64_t k0 = 0; k0 == 0 || k0 < g.k; k0 += step) {
    const std::int64_t depth = std::min(step, g.k - k0);
    const bool last = k0 + depth >= g.k;
    const float* packed = as_is ? g.a.data + row * g.a.row_stride : scratch;
    if (!as_is)
      for (std::int64_t i = 0; i < rows; i += mr)
        pack_strip(g.a, row + i, std::min(mr, rows - i), k0, depth, scratch + i * depth);
    for (std::int64_t p = panel; p < panel_end; p++) {
      const std::int64_t column = p * nr;
      for (std::int64_t i = 0; i < rows; i += mr) {
        GemmTileF32 t{};
        t.a = packed + i * depth;
        t.b = g.packed_b + column * g.k + k0 * nr;
        t.b_stride = f.columns;
        t.c = g.c + (row + i) * g.c_stride + column;
        t.c_stride = static_cast<std::size_t>(g.c_stride);
        t.m = static_cast<std::size_t>(std::min(mr, rows - i));
        t.n = static_cast<std::size_t>(std::min(nr, g.n - column));
        t.k = static_cast<std::size_t>(depth);
        t.accumulate = g.accumulate || k0 > 0;
        t.row_start = g.row_start ? g.row_start + row + i : nullptr;
        t.column_start = g.column_start ? g.column_start + column : nullptr;
        t.clamp = last && g.activation.clamp;
        t.low = g.activation.low;
        t.high = g.activation.high;
        f.tile(t);
        if (last)
          for (std::size_t r = 0; r < t.m; r++) g.activation.apply(t.c + r * t.c_stride, t.n);
      }
    }
  }
}

}  // namespace

std::int64_t packed_b_floats(const GemmF32& f, std::int64_t k, std::int64_t n) {
  const auto nr = static_cast<std::int64_t>(f.columns);
  return (n + nr - 1) / nr * nr * k;
}

void pack_b(const GemmF32& f, const MatrixF32& b, std::int64_t k, std::int64_t n, float scale,
            float* to) {
  const auto nr = static_cast<std::int64_t>(f.columns);
  for (std::int64_t column = 0; column < n; column += nr) {
    const std::int64_t width = std::min(nr, n - column);
    for (std::int64_t i = 0; i < k; i++, to += nr) {
      const float* from = b.data + i * b.row_stride + column * b.column_stride;
      for (std::int64_t j = 0; j < width; j++) to[j] = from[j * b.column_stride] * scale;
      for (std::int64_t j = width; j < nr; j++) to[j] = 0;
    }
  }
}

void pack_a(const GemmF32& f, const MatrixF32& a, std::int64_t m, std::int64_t k, float* to) {
  const auto mr = static_cast<std::int64_t>(f.rows);
  for (std::int64_t i = 0; i < m; i += mr) pack_strip(a, i, std::min(mr, m - i), 0, k, to + i * k);
}

std::size_t gemm_scratch_bytes(int threads) noexcept {
  return static_cast<std::size_t>(threads) * scratch_floats * sizeof(float);
}

void gemm_here(const GemmF32& f, const GemmProblemF32& g, float* scratch) noexcept {
  const auto nr = static_cast<std::int64_t>(f.columns);
  const std::int64_t block_rows =
      gemm_block_rows / static_cast<std::int64_t>(f.rows) * static_cast<std::int64_t>(f.rows);
  for (std::int64_t row = 0; row < g.m; row += block_rows)
    block(f, g, row, std::min(block_rows, g.m - row), 0, (g.n + nr - 1) / nr, scratch);
}

void gemm(const GemmF32& f, const GemmProblemF32& g, ThreadPool& pool,
          std::span<std::byte> scratch) noexcept {
  const auto mr = static_cast<std::int64_t>(f.rows), nr = static_cast<std::int64_t>(f.columns);
  const std::int64_t panels = (g.n + nr - 1) / nr;
  const std::int64_t block_rows = std::min(gemm_block_rows / mr * mr, (g.m + mr - 1) / mr * mr);
  const std::int64_t row_blocks = (g.m + block_rows - 1) / block_rows;
  // Chunks of about 100 microseconds: enough for balance, few enough that packing A again is cheap.
  const std::int64_t work = g.m * g.n * std::max<std::int64_t>(g.k, 1);
  const std::int64_t wanted = std::clamp<std::int64_t>(work / 4'000'000, 1, 4096);
  const std::int64_t column_chunks =
      pool.threads() == 1 ? 1 : std::clamp<std::int64_t>(wanted / row_blocks, 1, panels);
  const std::int64_t per_chunk =
      (panels + column_chunks - 1) / std::max<std::int64_t>(column_chunks, 1);
  if (panels == 0 || row_blocks == 0) return;
  auto* memory = reinterpret_cast<float*>(scratch.data());
  pool.run(row_blocks * column_chunks, [&](std::int64_t chunk, int thread) {
    const std::int64_t row = chunk / column_chunks * block_rows,
                       panel = chunk % column_chunks * per_chunk;
    if (panel >= panels) return;
    block(f, g, row, std::min(block_rows, g.m - row), panel, std::min(panels, panel + per_chunk),
          memory + static_cast<std::size_t>(thread) * scratch_floats);
  });
}

}  // namespace longshore::cpu
