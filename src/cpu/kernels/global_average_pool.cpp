#include <cmath>

#include "cpu/bind.hpp"
#include "cpu/rows.inner.hpp"
#include "tensor/quant.hpp"

namespace longshore::kernels {
namespace {

using namespace cpu;  // NOLINT: this file is about cpu kernels

class GlobalAverage final : public BoundKernel {
 public:
  GlobalAverage(const BindRequest& r, std::int64_t planes, std::int64_t area)
      : f_(inner<Rows>("rows", r.isa)),
        planes_(planes),
        area_(area),
        rounding_(r.rounding),
        type_(r.input(0).dtype) {
    if (!r.input(0).quantised()) return;
    const QuantView &from = r.input(0).quant, &to = r.output().quant;
    zero_x_ = from.zero_point[0];
    zero_y_ = to.zero_point[0];
    range_ = code_range(r.output().dtype);
    multiplier_ = make_multiplier(from.scale[0], 1.0f, to.scale[0] * static_cast<float>(area));
  }
  void run(const KernelRun& run) const noexcept override {
    run.pool.run((planes_ + 31) / 32, [&](std::int64_t chunk, int) {
      for (std::int64_t p = chunk * 32; p < std::min(planes_, chunk * 32 + 32); p++) {
        if (type_ == DType::f32) {
          run.outputs[0].as<float>()[p] =
              f_.sum_f32(run.inputs[0].as<float>() + p * area_, static_cast<std::size_t>(area_)) /
              static_cast<float>(area_);
          continue;
        }
        const std::uint32_t sum = type_ == DType::i8
                                      ? total(run.inputs[0].as<std::int8_t>() + p * area_)
                                      : total(run.inputs[0].as<std::uint8_t>() + p * area_);
        run.outputs[0].as<std::uint8_t>()[p] = static_cast<std::uint8_t>(
            requantise(static_cast<std::int32_t>(sum), multiplier_, zero_y_, range_.lowest,
                       range_.highest, rounding_));
      }
    });
  }
  const char* name() const noexcept override { return "global_average_pool"; }

 private:
  template <class T>
  std::uint32_t total(const T* x) const noexcept {
    std::uint32_t sum = 0;
    for (std::int64_t i = 0; i < area_; i++)
      sum += static_cast<std::uint32_t>(static_cast<std::int32_t>(x[i]) - zero_x_);
    return sum;
  }

  const Rows& f_;
  std::int64_t planes_, area_;
  Rounding rounding_;
  DType type_;
  Multiplier multiplier_;
  std::int32_t zero_x_ = 0, zero_y_ = 0;
  CodeRange range_{};
};

std::unique_ptr<BoundKernel> bind(const BindRequest& r) {
  const Operand &x = r.input(0), &y = r.output();
  if (!r.fixed() || r.inputs.size() != 1 || x.shape.rank < 2 || x.quantised() != y.quantised())
    return nullptr;
  const std::int64_t planes = x.shape.product(0, 2), area = x.shape.product(2, x.shape.rank);
  if (area < 1 || y.shape.elements() != planes) return nullptr;
  const bool bytes = (x.dtype == DType::i8 || x.dtype == DType::u8) &&
                     (y.dtype == DType::i8 || y.dtype == DType::u8);
  if (!r.all_f32() && !(bytes && x.quant.count == 1 && y.quant.count == 1)) return nullptr;
  return std::make_unique<GlobalAverage>(r, planes, area);
}

}  // namespace

extern constinit const Kernel kernel_global_average_pool = {
    .name = "global_average_pool",
    .doc = "The mean of each plane, in f32 and in codes.",
    .operators = {"GlobalAveragePool"},
    .bind = bind,
    .example = "(x: f32[2,5,7,9]) { y = GlobalAveragePool(x) return y }",
};

}  // namespace longshore::kernels
