#include <algorithm>
#include <cstring>

#include "cpu/bind.hpp"

namespace longshore::kernels {
namespace {

using namespace cpu;  // NOLINT: this file is about cpu kernels

/// Axes of the output, merged where the input allows it; the two innermost that matter go in tiles.
class Transpose final : public BoundKernel {
 public:
  Transpose(const Shape& dims, const Shape& strides, std::size_t size)
      : dims_(dims), strides_(strides), size_(size) {}

  void run(const KernelRun& run) const noexcept override {
    const auto* x = static_cast<const std::byte*>(run.inputs[0].data);
    auto* y = static_cast<std::byte*>(run.outputs[0].data);
    const int last = dims_.rank - 1;
    const std::int64_t n = dims_[last];
    if (strides_[last] == 1) {  // rows move whole
      const std::int64_t rows = dims_.product(0, last),
                         together = std::max<std::int64_t>(1, 16384 / n);
      run.pool.run((rows + together - 1) / together, [&](std::int64_t chunk, int) {
        for (std::int64_t r = chunk * together; r < std::min(rows, (chunk + 1) * together); r++)
          std::memcpy(y + static_cast<std::size_t>(r * n) * size_,
                      x + static_cast<std::size_t>(place(r, last)) * size_,
                      static_cast<std::size_t>(n) * size_);
      });
      return;
    }
    // The output axis along which the input is dense, against the last one.
    int dense = last;
    for (int i = 0; i < last; i++)
      if (strides_[i] == 1) dense = i;
    const std::int64_t m = dense == last ? 1 : dims_[dense],
                       inner = dense == last ? 0 : dims_.product(dense + 1, dims_.rank);
    Shape outer = dims_;
    outer[last] = 1;
    if (dense != last) outer[dense] = 1;
    const std::int64_t blocks = (n + 31) / 32, matrices = outer.elements();
    run.pool.run(matrices * blocks, [&](std::int64_t chunk, int) {
      std::int64_t rest = chunk / blocks, from = 0, to = 0;
      for (int i = dims_.rank; i-- > 0;) {
        const std::int64_t at = rest % outer[i];
        rest /= outer[i];
        from += at * strides_[i];
        to += at * dims_.product(i + 1, dims_.rank);
      }
      const std::int64_t first = chunk % blocks * 32, count = std::min<std::int64_t>(32, n - first);
      const std::byte* in = x + static_cast<std::size_t>(from + first * strides_[last]) * size_;
      std::byte* out = y + static_cast<std::size_t>(to + first) * size_;
      switch (size_) {
        case 1:
          tile<std::uint8_t>(in, out, m, count, inner);
          break;
        case 2:
          tile<std::uint16_t>(in, out, m, count, inner);
          break;
        case 4:
          tile<std::uint32_t>(in, out, m, count, inner);
          break;
        default:
          tile<std::uint64_t>(in, out, m, count, inner);
          break;
      }
    });
  }
  const char* name() const noexcept override { return "transpose"; }

 private:
  /// The input offset of output row r of the axes [0, axes).
  std::int64_t place(std::int64_t r, int axes) const {
    std::int64_t at = 0;
    for (int i = axes; i-- > 0;) {
      at += r % dims_[i] * strides_[i];
      r /= dims_[i];
    }
    return at;
  }

  /// y[i * inner + j] = x[i + j * stride] for i < m, j < n, in strips that stay in the cache.
  template <class T>
  void tile(const std::byte* from, std::byte* to, std::int64_t m, std::int64_t n,
            std::int64_t inner) const {
    const T* x = reinterpret_cast<const T*>(from);
    T* y = reinterpret_cast<T*>(to);
    const std::int64_t stride = strides_[dims_.rank - 1];
    for (std::int64_t i0 = 0; i0 < m; i0 += 16)
      for (std::int64_t i = i0; i < std::min(m, i0 + 16); i++)
        for (std::int64_t j = 0; j < n; j++) y[i * inner + j] = x[i + j * stride];
  }

  Shape dims_, strides_;
  std::size_t size_;
};

std::unique_ptr<BoundKernel> bind(const BindRequest& r) {
  const Operand &x = r.input(0), &y = r.output();
  if (!r.fixed() || !x.present() || x.dtype != y.dtype || x.shape.elements() == 0) return nullptr;
  if (x.quantised() != y.quantised() || x.quant.count > 1 || y.quant.count > 1) return nullptr;
  if (x.quantised() &&
      (x.quant.scale[0] != y.quant.scale[0] || x.quant.zero_point[0] != y.quant.zero_point[0]))
    return nullptr;
  const std::size_t size = size_bytes(x.dtype);
  if (size != 1 && size != 2 && size != 4 && size != 8) return nullptr;
  const std::span<const std::int64_t> given = r.attributes.integers("perm");
  const int rank = x.shape.rank;
  if (rank == 0 || (!given.empty() && static_cast<int>(given.size()) != rank) ||
      y.shape.rank != rank)
    return nullptr;
  const Shape in = strides_of(x.shape);
  Shape dims, strides;
  for (int i = 0; i < rank; i++) {
    const int from =
        given.empty() ? rank - 1 - i : resolve_axis(given[static_cast<std::size_t>(i)], rank);
    if (from < 0 || y.shape[i] != x.shape[from]) return nullptr;
    if (x.shape[from] == 1) continue;
    if (dims.rank > 0 &&
        strides[dims.rank - 1] == in[from] * x.shape[from]) {  // goes on where the last axis stops
      dims[dims.rank - 1] *= x.shape[from];
      strides[dims.rank - 1] = in[from];
    } else {
      dims.push(x.shape[from]);
      strides.push(in[from]);
    }
  }
  if (dims.rank == 0) {
    dims.push(1);
    strides.push(1);
  }
  if (dims.elements() != x.shape.elements()) return nullptr;
  return std::make_unique<Transpose>(dims, strides, size);
}

}  // namespace

extern constinit const Kernel kernel_transpose = {
    .name = "transpose",
    .doc = "Transpose of any type, in whole rows or tiles.",
    .operators = {"Transpose"},
    .bind = bind,
    .example = "(x: f32[40,50]) { y = Transpose(x, perm=[1,0]) return y }",
};

}  // namespace longshore::kernels
