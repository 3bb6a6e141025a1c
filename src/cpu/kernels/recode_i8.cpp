#include <algorithm>

#include "cpu/bind.hpp"
#include "cpu/requantise.inner.hpp"
#include "tensor/quant.hpp"

namespace longshore::kernels {
namespace {

using namespace cpu;  // NOLINT: this file is about cpu kernels

constexpr std::int64_t claim = 16384;

class Recode final : public BoundKernel {
 public:
  Recode(const Requantise& f, const Operand& x, const Operand& y)
      : f_(f), quantises_(x.dtype == DType::f32) {
    const Operand& codes = quantises_ ? y : x;
    is_signed_ = codes.dtype == DType::i8;
    scale_ = codes.quant.scale[0];
    zero_point_ = codes.quant.zero_point[0];
    range_ = code_range(codes.dtype);
  }
  void run(const KernelRun& run) const noexcept override {
    const std::int64_t n = run.outputs[0].elements();
    run.pool.run((n + claim - 1) / claim, [&](std::int64_t chunk, int) {
      const std::int64_t from = chunk * claim;
      const auto count = static_cast<std::size_t>(std::min(claim, n - from));
      if (quantises_)
        f_.quantise({run.inputs[0].as<float>() + from, scale_, zero_point_, range_.lowest,
                     range_.highest, run.outputs[0].as<std::uint8_t>() + from, count});
      else
        f_.dequantise(
            {{run.inputs[0].as<std::uint8_t>() + from, 1, is_signed_, zero_point_, scale_},
             run.outputs[0].as<float>() + from,
             count});
    });
  }
  const char* name() const noexcept override { return "recode_i8"; }

 private:
  const Requantise& f_;
  bool quantises_, is_signed_;
  float scale_;
  std::int32_t zero_point_;
  CodeRange range_{};
};

std::unique_ptr<BoundKernel> bind(const BindRequest& r) {
  const Operand &x = r.input(0), &y = r.output();
  if (!r.fixed() || r.inputs.size() != 1 || !x.present() || !y.present() || !(x.shape == y.shape))
    return nullptr;
  const Operand& codes = y.quantised() ? y : x;
  const Operand& real = y.quantised() ? x : y;
  if ((codes.dtype != DType::i8 && codes.dtype != DType::u8) || codes.quant.count != 1)
    return nullptr;
  if (real.dtype != DType::f32 || real.quantised()) return nullptr;
  return std::make_unique<Recode>(inner<Requantise>("requantise", r.isa), x, y);
}

}  // namespace

extern constinit const Kernel kernel_recode_i8 = {
    .name = "recode_i8",
    .doc = "f32 to 8-bit codes and back, one scale for the tensor.",
    .operators = {"longshore.Quantize", "longshore.Dequantize"},
    .bind = bind,
    .example = "(x: f32[100]) { y: i8[100] q(0.02, 7) = longshore.Quantize(x) return y }",
};

}  // namespace longshore::kernels
