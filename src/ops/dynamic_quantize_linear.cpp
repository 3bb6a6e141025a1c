#include "ops/elementwise.hpp"
#include "tensor/requantise.hpp"

namespace longshore::ops::op_dynamic_quantize_linear {
namespace {

void infer(InferContext& c) {
  TensorType y = c.input(0);
  y.dtype = DType::u8;
  c.output(0, y);
  c.output(1, TensorType(DType::f32, Shape{}));
  c.output(2, TensorType(DType::u8, Shape{}));
}

Status eval(EvalContext& c) noexcept {
  const TensorView& x = c.input(0);
  const float* from = x.as<float>();
  const std::int64_t n = x.elements();
  float low = 0, high = 0;  // the range holds 0
  for (std::int64_t i = 0; i < n; i++) {
    low = std::min(low, from[i]);
    high = std::max(high, from[i]);
  }
  const float scale = low == high ? 1.0f : (high - low) / 255.0f;
  const auto zero = static_cast<std::uint8_t>(quantise(-low, scale, 0, 0, 255));
  MutableView y, y_scale, y_zero;
  LONGSHORE_TRY(c.output(0, x.shape, y));
  for (std::int64_t i = 0; i < n; i++)
    y.as<std::uint8_t>()[i] = static_cast<std::uint8_t>(quantise(from[i], scale, zero, 0, 255));
  if (c.wants(1)) {
    LONGSHORE_TRY(c.output(1, Shape{}, y_scale));
    *y_scale.as<float>() = scale;
  }
  if (c.wants(2)) {
    LONGSHORE_TRY(c.output(2, Shape{}, y_zero));
    *y_zero.as<std::uint8_t>() = zero;
  }
  return {};
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "DynamicQuantizeLinear",
    .doc = "x as u8 with the scale and zero point of its own range; both are outputs.",
    .since = 11,
    .schema = {.inputs = {{"x", types(DType::f32)}},
               .outputs = {{"y", types(DType::u8)},
                           {"y_scale", types(DType::f32), {}, Presence::optional},
                           {"y_zero_point", types(DType::u8), {}, Presence::optional}}},
    .infer = infer,
    .eval = eval,
    .facts = facts_rank,
    .examples = {"(x: f32[2,3]) { y, s, z = DynamicQuantizeLinear(x) return y, s, z }"},
};

}  // namespace longshore::ops::op_dynamic_quantize_linear
