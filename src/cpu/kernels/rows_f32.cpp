#include <algorithm>

#include "cpu/bind.hpp"
#include "cpu/rows.inner.hpp"

namespace longshore::kernels {
namespace {

using namespace cpu;  // NOLINT: this file is about cpu kernels

/// One function for each row of `n` elements.
class RowKernel final : public BoundKernel {
 public:
  enum class What { softmax, layer_norm, gelu };
  RowKernel(What what, const Rows& f, std::int64_t rows, std::int64_t n, float epsilon)
      : what_(what), f_(f), rows_(rows), n_(n), epsilon_(epsilon) {}

  void run(const KernelRun& run) const noexcept override {
    const float* x = run.inputs[0].as<float>();
    const float* scale = what_ == What::layer_norm ? run.inputs[1].as<float>() : nullptr;
    const float* bias =
        what_ == What::layer_norm && run.inputs.size() > 2 ? run.inputs[2].as<float>() : nullptr;
    float* y = run.outputs[0].as<float>();
    const std::int64_t together = std::max<std::int64_t>(1, 4096 / std::max<std::int64_t>(n_, 1));
    run.pool.run((rows_ + together - 1) / together, [&](std::int64_t chunk, int) {
      for (std::int64_t r = chunk * together, end = std::min(rows_, r + together); r < end; r++) {
        const auto n = static_cast<std::size_t>(n_);
        if (what_ == What::softmax)
          f_.softmax(x + r * n_, y + r * n_, n);
        else if (what_ == What::gelu)
          f_.gelu(x + r * n_, y + r * n_, n);
        else
          f_.layer_norm(x + r * n_, scale, bias, epsilon_, y + r * n_, n);
      }
    });
  }
  const char* name() const noexcept override { return "rows_f32"; }

 private:
  What what_;
  const Rows& f_;
  std::int64_t rows_, n_;
  float epsilon_;
};

std::unique_ptr<BoundKernel> bind(const BindRequest& r) {
  const Operand &x = r.input(0), &y = r.output();
  if (!r.fixed() || !r.all_f32() || !x.present() || !y.present() || !(x.shape == y.shape) ||
      x.shape.rank == 0)
    return nullptr;
  if (r.output(1).present() || r.output(2).present()) return nullptr;
  const auto& f = inner<Rows>("rows", r.isa);
  const Shape& s = x.shape;
  using What = RowKernel::What;
  if (r.name == "Gelu") {
    if (r.attributes.text("approximate", "none") != "none") return nullptr;
    const std::int64_t n = s.elements(), piece = 4096;
    if (n % piece == 0 && n > 0)
      return std::make_unique<RowKernel>(What::gelu, f, n / piece, piece, 0.0f);
    return std::make_unique<RowKernel>(What::gelu, f, s.product(0, s.rank - 1), s.back(), 0.0f);
  }
  const int axis = resolve_axis(r.attributes.integer("axis", -1), s.rank);
  if (axis < 0) return nullptr;
  if (r.name == "Softmax") {
    if (s.product(axis + 1, s.rank) != 1) return nullptr;
    return std::make_unique<RowKernel>(What::softmax, f, s.product(0, axis), s[axis], 0.0f);
  }
  const std::int64_t n = s.product(axis, s.rank);
  Shape normal;
  for (int i = axis; i < s.rank; i++) normal.push(s[i]);
  const Operand &scale = r.input(1), &bias = r.input(2);
  if (!scale.present() || !(scale.shape == normal) || (bias.present() && !(bias.shape == normal)))
    return nullptr;
  return std::make_unique<RowKernel>(What::layer_norm, f, s.product(0, axis), n,
                                     r.attributes.real("epsilon", 1e-5f));
}

}  // namespace

extern constinit const Kernel kernel_rows_f32 = {
    .name = "rows_f32",
    .doc = "Softmax, LayerNormalization and Gelu of f32 rows.",
    .operators = {"Softmax", "LayerNormalization", "Gelu"},
    .bind = bind,
    .example = "(x: f32[4,100]) { y = Softmax(x) return y }",
};

}  // namespace longshore::kernels
