#include "base/error.hpp"
#include "ops/block_quant.hpp"

namespace longshore::ops::op_dequantize_linear {
namespace {

constexpr Types code_types = types(DType::u8, DType::i8, DType::u16, DType::i16, DType::i32) |
                             type_set::tiny_types | type_set::float8_types;

void infer(InferContext& c) {
  TensorType y = c.input(0);
  const std::int64_t wanted = c.attributes().integer("output_dtype");
  y.dtype = wanted != 0 ? dtype_of(wanted) : c.input(1).dtype;
  if (y.dtype != DType::undefined && !type_set::float_types.has(y.dtype))
    c.fail(str("its output cannot be of type ", name(y.dtype)));
  c.output(0, y);
}

Status eval(EvalContext& c) noexcept {
  const TensorView &x = c.input(0), &scale = c.input(1), &zero = c.input(2);
  ScaleGrid grid;
  LONGSHORE_TRY(scale_grid(x.shape, scale.shape, c.attributes, grid));
  LONGSHORE_TRY(zero_point_fits(scale, zero));
  MutableView y;
  LONGSHORE_TRY(c.output(0, x.shape, y));
  auto* bytes = y.as<std::byte>();
  const auto size = static_cast<std::int64_t>(size_bytes(y.dtype));
  return for_blocks(x, [&](std::int64_t first, double* values, std::int64_t count) {
    for (std::int64_t i = 0; i < count; i++) {
      const std::int64_t k = grid.index(first + i);
      const double shifted = values[i] - (zero.present() ? load_real(zero, k) : 0.0);  // exact
      values[i] = static_cast<float>(shifted) * static_cast<float>(load_real(scale, k));
    }
    return cast_tensor({DType::f64, Shape{count}, values, {}},
                       {y.dtype, Shape{count}, bytes + first * size, {}});
  });
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "DequantizeLinear",
    .doc = "x = (q - zero_point) * scale, by tensor, axis or block.",
    .since = 25,
    .schema = {.inputs = {{"x", code_types, "T"},
                          {"x_scale",
                           type_set::float_types | types(DType::f8e8m0),
                           {},
                           Presence::required,
                           InputRole::scale},
                          {"x_zero_point", code_types, "T", Presence::optional,
                           InputRole::zero_point}},
               .outputs = {{"y", type_set::float_types}},
               .attributes = {{"axis"}, {"block_size"}, {"output_dtype"}}},
    .infer = infer,
    .eval = eval,
    .facts = facts_rank,
    .on_codes = "longshore.Dequantize",
    .examples = {"(x: u8[2,3]) { y = DequantizeLinear(x, f32[]{0.5}, u8[]{128}) return y }",
                 "(x: i8[2,3]) { y = DequantizeLinear(x, f16[3]{0.5, 0.25, 1}) return y }",
                 "(x: i4[2,4]) { y = DequantizeLinear(x, f32[2,2]{0.5, 0.25, 1, 2}, i4[2,2]{0, 1, "
                 "2, 3}, block_size=2) return y }",
                 "(x: i32[3]) { y = DequantizeLinear(x, f32[]{2}) return y }"},
};

}  // namespace longshore::ops::op_dequantize_linear
