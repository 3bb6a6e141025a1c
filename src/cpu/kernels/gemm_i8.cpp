#include <algorithm>

#include "cpu/support/gemm_i8.hpp"

namespace longshore::kernels {
namespace {

using namespace cpu;  // NOLINT: this file is about cpu kernels

constexpr std::int64_t most_tile = 12 * 32;

/// Y[m x n] = A[m x k] * B[k x n] with constant weights B, packed in panels of columns.
class GemmI8Kernel final : public BoundKernel {
 public:
  GemmI8Kernel(const BindRequest& r, std::int64_t m, std::int64_t n, std::int64_t k,
               bool transpose_b, Epilogue epilogue)
      : m_(m),
        n_(n),
        k_(k),
        gemm_(inner<GemmI8>("gemm_i8", r.isa)),
        requantise_(inner<Requantise>("requantise", r.isa)),
        epilogue_(std::move(epilogue)),
        form_(activation_form(gemm_, r.input(0))),
        groups_(groups_of(gemm_, k)) {
    const auto* w = static_cast<const std::int8_t*>(r.input(1).constant);
    const auto weight = [&](std::int64_t column, std::int64_t depth) {
      return w[transpose_b ? column * k_ + depth : depth * n_ + column];
    };
    const std::int64_t size = group_size(gemm_), nr = static_cast<std::int64_t>(gemm_.columns),
                       panels = (n_ + nr - 1) / nr;
    const std::int64_t weights = panels * groups_ * nr;  // then the sum of each column
    pack_ = r.pack(
        1, {"gemm_i8", {gemm_.bytes, nr, n_, k_, transpose_b ? 1 : 0}},
        static_cast<std::size_t>(weights + n_) * sizeof(std::int32_t), [&](std::byte* bytes) {
          auto* to = reinterpret_cast<std::int32_t*>(bytes);
          for (std::int64_t column = 0; column < n_; column++)
            for (std::int64_t depth = 0; depth < k_; depth++)
              put_weight(gemm_, to[(column / nr * groups_ + depth / size) * nr + column % nr],
                         depth % size, weight(column, depth));
          sum_weights(n_, k_, weight, to + weights);
        });
    packed_ = reinterpret_cast<const std::int32_t*>(pack_.get());
    fold_offset(epilogue_, n_, form_.offset, packed_ + weights);
  }

  std::size_t scratch_bytes(int threads) const noexcept override {
    return static_cast<std::size_t>(threads) * thread_bytes();
  }

  void run(const KernelRun& run) const noexcept override {
    const auto mr = static_cast<std::int64_t>(gemm_.rows),
               nr = static_cast<std::int64_t>(gemm_.columns);
    const std::int64_t strips = (m_ + mr - 1) / mr, panels = (n_ + nr - 1) / nr;
    const std::int64_t parts = strips >= 2 * run.pool.threads() || run.pool.threads() == 1
                                   ? 1
                                   : std::min<std::int64_t>(panels, 2 * run.pool.threads());
    const std::int64_t per_part = (panels + parts - 1) / parts;
    run.pool.run(strips * parts, [&](std::int64_t chunk, int thread) {
      const std::int64_t row = chunk / parts * mr, rows = std::min(mr, m_ - row),
                         panel = chunk % parts * per_part;
      auto* packed = reinterpret_cast<std::int32_t*>(
          run.scratch.data() + static_cast<std::size_t>(thread) * thread_bytes());
      pack_rows(run.inputs[0].as<std::uint8_t>() + row * k_, rows, packed);
      alignas(64) std::int32_t sums[most_tile];
      for (std::int64_t p = panel; p < std::min(panels, panel + per_part); p++) {
        const std::int64_t columns = std::min(nr, n_ - p * nr);
        gemm_.activations_by_weights({packed, packed_ + p * groups_ * nr, gemm_.columns, sums,
                                      gemm_.columns, static_cast<std::size_t>(rows),
                                      static_cast<std::size_t>(columns),
                                      static_cast<std::size_t>(groups_)});
        for (std::int64_t i = 0; i < rows; i++)
          epilogue_.across(requantise_, sums + i * nr, p * nr, columns,
                           run.outputs[0].as<std::uint8_t>() + (row + i) * n_ + p * nr);
      }
    });
  }
  const char* name() const noexcept override { return "gemm_i8"; }

 private:
  std::size_t thread_bytes() const {
    return (gemm_.rows * static_cast<std::size_t>(groups_) * 4 + 127) / 64 * 64;
  }

  void pack_rows(const std::uint8_t* a, std::int64_t rows, std::int32_t* to) const noexcept {
    const std::int64_t size = group_size(gemm_);
    for (std::int64_t i = 0; i < rows; i++, a += k_)
      for (std::int64_t g = 0; g < groups_; g++) {
        std::int32_t group = 0;
        for (std::int64_t r = 0; r < size; r++) {
          const std::int64_t k = g * size + r;
          const std::int32_t code = k < k_ ? a[k] : form_.padding;
          const std::int32_t value =
              gemm_.bytes == 1
                  ? code ^ form_.flip
                  : (form_.is_signed ? static_cast<std::int8_t>(code) : code) - form_.zero;
          put_weight(gemm_, group, r, value);
        }
        to[g * rows + i] = group;
      }
  }

  std::int64_t m_, n_, k_;
  const GemmI8& gemm_;
  const Requantise& requantise_;
  Epilogue epilogue_;
  ActivationForm form_;
  std::int64_t groups_;
  Pack pack_;
  const std::int32_t* packed_ = nullptr;
};

std::unique_ptr<BoundKernel> bind(const BindRequest& r) {
  const Operand &a = r.input(0), &b = r.input(1), &bias = r.input(2), &y = r.output();
  if (!r.fixed() || !a.quantised() || !y.quantised() || b.shape.rank != 2 || a.shape.rank < 2 ||
      r.inputs.size() > 3)
    return nullptr;
  const bool matmul = r.name == "MatMul";
  if (!matmul && (r.attributes.integer("transA") != 0 || r.attributes.real("alpha", 1) != 1 ||
                  r.attributes.real("beta", 1) != 1))
    return nullptr;
  const bool transpose_b = !matmul && r.attributes.integer("transB") != 0;
  const std::int64_t k = a.shape.back(), m = a.shape.product(0, a.shape.rank - 1),
                     n = b.shape[transpose_b ? 0 : 1];
  if (b.shape[transpose_b ? 1 : 0] != k || y.shape.rank != a.shape.rank || y.shape.back() != n ||
      y.shape.elements() != m * n || m * n == 0 || k == 0)
    return nullptr;
  if (bias.present() &&
      (matmul || bias.quant.count == 0 || bias.shape.rank == 0 || bias.shape.back() != n))
    return nullptr;
  Epilogue epilogue;
  if (!make_epilogue(r, n, transpose_b ? 0 : 1, epilogue)) return nullptr;
  return std::make_unique<GemmI8Kernel>(r, m, n, k, transpose_b, std::move(epilogue));
}

}  // namespace

extern constinit const Kernel kernel_gemm_i8 = {
    .name = "gemm_i8",
    .doc = "Quantised matrix products with constant weights.",
    .operators = {"Gemm", "MatMul", "com.microsoft.FusedGemm"},
    .bind = bind,
    .example =
        "(a: i8[7,20] q(0.1, 3)) { y: i8[7,9] q(0.3, 1) = MatMul(a, i8[20,9] q(0.02, 0){3}) return "
        "y }",
};

}  // namespace longshore::kernels
