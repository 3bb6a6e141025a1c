#include "base/error.hpp"
#include "ops/block_quant.hpp"
#include "tensor/quant.hpp"

namespace longshore::ops {
namespace {

constexpr Types code_types = types(DType::u8, DType::i8, DType::u16, DType::i16) | type_set::tiny_types | type_set::float8_types;

void infer(InferContext& c) {
  TensorType y = c.input(0);
  const std::int64_t wanted = c.attributes().integer("output_dtype");
  y.dtype = wanted != 0 ? dtype_of(wanted) : c.has(2) ? c.input(2).dtype : DType::u8;
  if (y.dtype != DType::undefined && !code_types.has(y.dtype))
    c.fail(str("its output cannot be of type ", name(y.dtype)));
  if (c.has(2) && c.input(2).dtype != DType::undefined && c.input(2).dtype != y.dtype)
    c.fail(str("its zero point is ", name(c.input(2).dtype), " and its output ", name(y.dtype)));
  c.output(0, y);
}

Status eval(EvalContext& c) noexcept {
  const TensorView &x = c.input(0), &scale = c.input(1), &zero = c.input(2);
  ScaleGrid grid;
  LONGSHORE_TRY(scale_grid(x.shape, scale.shape, c.attributes, grid));
  LONGSHORE_TRY(zero_point_fits(scale, zero));
  MutableView y;
  LONGSHORE_TRY(c.output(0, x.shape, y));
  const DType given = dtype_of(c.attributes.integer("precision"));
  const DType precision = given != DType::undefined ? given : scale.dtype;
  const bool integer = !type_set::float8_types.has(y.dtype);
  const bool saturate = c.attributes.integer("saturate", 1) != 0;
  const auto [lowest, highest] = code_range(y.dtype);
  for (std::int64_t i = 0, n = x.elements(); i < n; i++) {
    const std::int64_t k = grid.index(i);
    const auto value = static_cast<float>(load_real(x, i)), step = static_cast<float>(load_real(scale, k));
    const float quotient = round_to(precision, value / step);
    if (integer) {
      const std::int32_t z = zero.present() ? load_code(zero, k) : 0;
      store_code(y, i, quantise(quotient, 1.0f, z, lowest, highest));
    } else {
      const float shifted = quotient + (zero.present() ? static_cast<float>(load_real(zero, k)) : 0.0f);
      const TensorView from{DType::f32, Shape{}, &shifted, {}};
      const auto at = static_cast<std::size_t>(i) * size_bytes(y.dtype);
      const MutableView to{y.dtype, Shape{}, y.as<std::byte>() + at, {}};
      LONGSHORE_TRY(cast_tensor(from, to, {.saturate = saturate}));
    }
  }
  return {};
}

}  // namespace

extern constinit const OpDef op_quantize_linear = {
    .name = "QuantizeLinear",
    .doc = "q = saturate(round_half_even(x / scale) + zero_point), by tensor, axis or block.",
    .since = 25,
    .schema = {.inputs = {{"x", type_set::float_types | types(DType::i32)},
                          {"y_scale", type_set::float_types | types(DType::i32, DType::f8e8m0)},
                          {"y_zero_point", code_types, {}, Presence::optional}},
               .outputs = {{"y", code_types}},
               .attributes = {{"axis"}, {"block_size"}, {"output_dtype"}, {"precision"}, {"saturate"}}},
    .infer = infer,
    .eval = eval,
    .facts = facts_rank,
    .examples = {"(x: f32[2,3]) { y = QuantizeLinear(x, f32[]{0.5}, u8[]{128}) return y }",
                 "(x: f32[2,3]) { y = QuantizeLinear(x, f32[3]{0.5, 0.25, 1}, i8[3]{0, 1, 2}) return y }",
                 "(x: f16[2,4]) { y = QuantizeLinear(x, f16[2,2]{0.5, 0.25, 1, 2}, block_size=2, output_dtype=22) return y }",
                 "(x: f32[4]) { y = QuantizeLinear(x, f32[]{2}, f8e4m3fn[]{0}) return y }"},
};

}  // namespace longshore::ops
