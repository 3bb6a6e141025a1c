#include <algorithm>

#include "cpu/bind.hpp"
#include "cpu/requantise.inner.hpp"
#include "tensor/norm_codes.hpp"

namespace longshore::kernels {
namespace {

using namespace cpu;  // NOLINT: this file is about cpu kernels

class NormBytes final : public BoundKernel {
 public:
  NormBytes(const Requantise& f, const NormCodes& n, bool is_signed, std::int64_t rows,
            std::int64_t count)
      : f_(f), n_(n), is_signed_(is_signed), rows_(rows), count_(count) {}
  void run(const KernelRun& run) const noexcept override {
    const std::int64_t together = std::max<std::int64_t>(1, 4096 / count_);
    run.pool.run((rows_ + together - 1) / together, [&](std::int64_t chunk, int) {
      for (std::int64_t r = chunk * together, end = std::min(rows_, r + together); r < end; r++)
        row(run, r * count_);
    });
  }
  const char* name() const noexcept override { return "norm_i8"; }

 private:
  void row(const KernelRun& run, std::int64_t at) const noexcept {
    const auto count = static_cast<std::size_t>(count_);
    const CodesI8 x{run.inputs[0].as<std::uint8_t>() + at, 1, is_signed_, n_.in_zero, n_.in_scale};
    std::int64_t sum = 0, squares = 0;
    f_.moments(x, count, &sum, &squares);
    const bool biased = run.inputs.size() > 2 && run.inputs[2].present();
    f_.norm({.x = x,
             .times = n_.subtract_mean ? static_cast<std::int32_t>(count_) : 1,
             .less = n_.subtract_mean ? static_cast<std::int32_t>(sum) : 0,
             .factor = norm_factor(count_, sum, squares, n_),
             .scale = run.inputs[1].as<float>(),
             .bias = biased ? run.inputs[2].as<float>() : nullptr,
             .out_scale = n_.out_scale,
             .zero_point = n_.out_zero,
             .lowest = n_.lowest,
             .highest = n_.highest,
             .codes = run.outputs[0].as<std::uint8_t>() + at,
             .n = count});
  }

  const Requantise& f_;
  NormCodes n_;
  bool is_signed_;
  std::int64_t rows_, count_;
};

std::unique_ptr<BoundKernel> bind(const BindRequest& r) {
  const auto is_byte = [](const Operand& o) {
    return o.dtype == DType::i8 || o.dtype == DType::u8;
  };
  const Operand &x = r.input(0), &y = r.output();
  if (!r.fixed() || !x.present() || !y.present() || !(x.shape == y.shape) || x.quant.count != 1 ||
      y.quant.count != 1 || !is_byte(x) || !is_byte(y) || r.output(1).present() ||
      r.output(2).present())
    return nullptr;
  const int axis = resolve_axis(r.attributes.integer("axis", -1), x.shape.rank);
  if (axis < 0) return nullptr;
  Shape row;
  for (int i = axis; i < x.shape.rank; i++) row.push(x.shape[i]);
  const std::int64_t count = row.elements();
  const auto fits = [&](const Operand& o) {
    return o.dtype == DType::f32 && !o.quantised() && o.shape == row;
  };
  if (count < 1 || count > most_norm_row || !fits(r.input(1)) ||
      (r.input(2).present() && !fits(r.input(2))))
    return nullptr;
  const NormCodes n = norm_codes(x.quant, y.quant, y.dtype, r.attributes.real("epsilon", 1e-5f),
                                 r.name == "LayerNormalization");
  return std::make_unique<NormBytes>(inner<Requantise>("requantise", r.isa), n,
                                     x.dtype == DType::i8, x.shape.product(0, axis), count);
}

}  // namespace

extern constinit const Kernel kernel_norm_i8 = {
    .name = "norm_i8",
    .doc = "Layer and RMS normalisation of 8-bit codes in rows.",
    .operators = {"LayerNormalization", "RMSNormalization"},
    .bind = bind,
    .example =
        "(x: i8[40,300] q(0.05, 3), s: f32[300], b: f32[300]) { y: i8[40,300] q(0.02, -1) = "
        "LayerNormalization(x, s, b) return y }",
};

}  // namespace longshore::kernels
