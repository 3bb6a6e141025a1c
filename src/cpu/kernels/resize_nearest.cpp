#include <cstring>

#include "cpu/bind.hpp"

namespace longshore::kernels {
namespace {

using namespace cpu;  // NOLINT: this file is about cpu kernels

/// Enlargement by whole factors: output o shows input o / factor.
class ResizeNearest final : public BoundKernel {
 public:
  ResizeNearest(const Shape& in, std::int64_t rows, std::int64_t columns, std::size_t size)
      : planes_(in.product(0, 2)),
        height_(in[2]),
        width_(in[3]),
        rows_(rows),
        columns_(columns),
        size_(size) {}

  void run(const KernelRun& run) const noexcept override {
    const auto* x = static_cast<const std::byte*>(run.inputs[0].data);
    auto* y = static_cast<std::byte*>(run.outputs[0].data);
    const auto row_bytes = static_cast<std::size_t>(width_ * columns_) * size_;
    run.pool.run(planes_, [&](std::int64_t plane, int) {
      for (std::int64_t h = 0; h < height_; h++) {
        const std::byte* from =
            x + static_cast<std::size_t>((plane * height_ + h) * width_) * size_;
        std::byte* to = y + static_cast<std::size_t>((plane * height_ + h) * rows_) * row_bytes;
        if (size_ == 1)
          repeat<std::uint8_t>(from, to);
        else
          repeat<std::uint32_t>(from, to);
        for (std::int64_t r = 1; r < rows_; r++)
          std::memcpy(to + static_cast<std::size_t>(r) * row_bytes, to, row_bytes);
      }
    });
  }
  const char* name() const noexcept override { return "resize_nearest"; }

 private:
  template <class T>
  void repeat(const std::byte* from, std::byte* to) const {
    const T* x = reinterpret_cast<const T*>(from);
    T* y = reinterpret_cast<T*>(to);
    for (std::int64_t i = 0; i < width_; i++)
      for (std::int64_t k = 0; k < columns_; k++) *y++ = x[i];
  }

  std::int64_t planes_, height_, width_, rows_, columns_;
  std::size_t size_;
};

std::unique_ptr<BoundKernel> bind(const BindRequest& r) {
  const Operand &x = r.input(0), &y = r.output(), &scales = r.input(2);
  if (!r.fixed() || x.shape.rank != 4 || y.shape.rank != 4 || x.dtype != y.dtype ||
      x.shape.elements() == 0)
    return nullptr;
  const std::size_t size = size_bytes(x.dtype);
  if (size != 1 && size != 4) return nullptr;
  if (x.quantised() != y.quantised() || x.quant.count > 1 || y.quant.count > 1) return nullptr;
  if (x.quantised() &&
      (x.quant.scale[0] != y.quant.scale[0] || x.quant.zero_point[0] != y.quant.zero_point[0]))
    return nullptr;
  const Attributes& a = r.attributes;
  if (a.text("mode", "nearest") != "nearest" || a.has("axes") ||
      a.text("keep_aspect_ratio_policy", "stretch") != "stretch")
    return nullptr;
  const std::string_view where = a.text("coordinate_transformation_mode", "half_pixel");
  const std::string_view nearest = a.text("nearest_mode", "round_prefer_floor");
  // Half a pixel's shift never ties for whole factors, so both ways to round agree with o / factor.
  const bool rounds = nearest == "round_prefer_floor" || nearest == "round_prefer_ceil";
  if (!(where == "asymmetric" && nearest == "floor") &&
      !((where == "half_pixel" || where == "pytorch_half_pixel") && rounds))
    return nullptr;
  std::int64_t factor[4];
  for (int i = 0; i < 4; i++) {
    if (y.shape[i] % x.shape[i] != 0) return nullptr;
    factor[i] = y.shape[i] / x.shape[i];
    if (!scales.present() || scales.shape.elements() == 0) continue;
    if (!scales.constant || scales.dtype != DType::f32 || scales.shape.elements() != 4 ||
        static_cast<const float*>(scales.constant)[i] != static_cast<float>(factor[i]))
      return nullptr;
  }
  if (factor[0] != 1 || factor[1] != 1) return nullptr;
  return std::make_unique<ResizeNearest>(x.shape, factor[2], factor[3], size);
}

}  // namespace

extern constinit const Kernel kernel_resize_nearest = {
    .name = "resize_nearest",
    .doc = "Resize of images to a whole multiple, nearest element.",
    .operators = {"Resize"},
    .bind = bind,
    .example =
        "(x: f32[1,3,5,7]) { y = Resize(x, _, f32[4]{1,1,2,2}, mode=\"nearest\", "
        "coordinate_transformation_mode=\"asymmetric\", nearest_mode=\"floor\") return y }",
};

}  // namespace longshore::kernels
