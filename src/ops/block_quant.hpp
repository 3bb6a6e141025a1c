// Shared by QuantizeLinear and DequantizeLinear: which scale an element has.
#pragma once
#include "ops/cast.hpp"
#include "ops/elementwise.hpp"

namespace longshore::ops {

/// Scales for the whole tensor, by index of an axis, or by block of an axis.
struct ScaleGrid {
  std::int64_t scales = 1;  // along the axis
  std::int64_t axis_size = 1, inner = 1, block = 1;
  bool blocked = false, whole = true;

  std::int64_t index(std::int64_t i) const noexcept {
    if (whole) return 0;
    const std::int64_t along = i / inner % axis_size;
    if (!blocked) return along;
    return (i / (inner * axis_size) * scales + along / block) * inner + i % inner;
  }
};

/// From the dims of x and its scale, and the attributes axis and block_size.
inline Status scale_grid(const Shape& x, const Shape& scale, const Attributes& attributes,
                         ScaleGrid& g) noexcept {
  if (scale.elements() == 1 && scale.rank <= 1) return {};
  const int axis = resolve_axis(attributes.integer("axis", 1), x.rank);
  if (axis < 0)
    return Status::error(Code::bad_argument, "the axis is out of range for rank %d", x.rank);
  g.whole = false;
  g.axis_size = x[axis];
  g.inner = x.product(axis + 1, x.rank);
  g.block = attributes.integer("block_size");
  g.blocked = scale.rank > 1 || g.block > 0;
  if (!g.blocked) {
    if (scale.rank == 1 && scale[0] == x[axis]) return {};
    return Status::error(Code::bad_argument, "%lld scales do not fit an axis of %lld",
                         static_cast<long long>(scale.elements()), static_cast<long long>(x[axis]));
  }
  bool fits = scale.rank == x.rank && scale[axis] > 0;
  for (int i = 0; i < x.rank && fits; i++) fits = i == axis || scale[i] == x[i];
  if (fits && g.block <= 0) g.block = (x[axis] + scale[axis] - 1) / scale[axis];
  fits = fits && (x[axis] == 0 || (x[axis] - 1) / g.block + 1 == scale[axis]);
  if (!fits)
    return Status::error(Code::bad_argument,
                         "the dims of the scales do not fit blocks of %lld of the input",
                         static_cast<long long>(g.block));
  g.scales = scale[axis];
  return {};
}

/// f(first, values, count) for runs of x's elements as double, which holds each exactly.
template <class F>
Status for_blocks(const TensorView& x, F&& f) noexcept {
  constexpr std::int64_t block = 256;
  double values[block];
  const auto* bytes = x.as<std::byte>();
  const auto size = static_cast<std::int64_t>(size_bytes(x.dtype));
  for (std::int64_t first = 0, n = x.elements(); first < n; first += block) {
    const Shape run{std::min(block, n - first)};
    LONGSHORE_TRY(
        cast_tensor({x.dtype, run, bytes + first * size, {}}, {DType::f64, run, values, {}}));
    LONGSHORE_TRY(f(first, values, run[0]));
  }
  return {};
}

/// A value rounded to what an element type can hold (f16, bf16; others: float).
inline float round_to(DType t, float x) noexcept {
  if (t == DType::f16) return Float16(x);
  if (t == DType::bf16) return BFloat16(x);
  return x;
}

inline Status zero_point_fits(const TensorView& scale, const TensorView& zero) noexcept {
  if (!zero.present() || zero.elements() == scale.elements()) return {};
  return Status::error(Code::bad_argument, "%lld scales and %lld zero points",
                       static_cast<long long>(scale.elements()),
                       static_cast<long long>(zero.elements()));
}

}  // namespace longshore::ops
