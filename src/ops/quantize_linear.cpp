#include "base/error.hpp"
#include "ops/block_quant.hpp"
#include "tensor/quant.hpp"

namespace longshore::ops::op_quantize_linear {
namespace {

constexpr Types code_types = types(DType::u8, DType::i8, DType::u16, DType::i16) |
                             type_set::tiny_types | type_set::float8_types;

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
  const auto [low, high] = code_range(y.dtype);
  const std::int32_t lowest = low, highest = high;
  auto* bytes = y.as<std::byte>();
  const auto size = static_cast<std::int64_t>(size_bytes(y.dtype));
  return for_blocks(x, [&](std::int64_t first, double* values, std::int64_t count) {
    for (std::int64_t i = 0; i < count; i++) {
      const std::int64_t k = grid.index(first + i);
      const float quotient = round_to(
          precision, static_cast<float>(values[i]) / static_cast<float>(load_real(scale, k)));
      if (integer)
        values[i] =
            quantise(quotient, 1.0f, zero.present() ? load_code(zero, k) : 0, lowest, highest);
      else
        values[i] = quotient + (zero.present() ? static_cast<float>(load_real(zero, k)) : 0.0f);
    }
    return cast_tensor({DType::f64, Shape{count}, values, {}},
                       {y.dtype, Shape{count}, bytes + first * size, {}}, {.saturate = saturate});
  });
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "QuantizeLinear",
    .doc = "q = saturate(round_half_even(x / scale) + zero_point), by tensor, axis or block.",
    .since = 25,
    .schema =
        {.inputs =
             {{"x", type_set::float_types | types(DType::i32)},
              {"y_scale",
               type_set::float_types | types(DType::i32, DType::f8e8m0),
               {},
               Presence::required,
               InputRole::output_scale},
              {"y_zero_point", code_types, {}, Presence::optional, InputRole::output_zero_point}},
         .outputs = {{"y", code_types}},
         .attributes = {{"axis"}, {"block_size"}, {"output_dtype"}, {"precision"}, {"saturate"}}},
    .infer = infer,
    .eval = eval,
    .facts = facts_rank,
    .on_codes = "longshore.Quantize",
    .examples =
        {"(x: f32[2,3]) { y = QuantizeLinear(x, f32[]{0.5}, u8[]{128}) return y }",
         "(x: f32[2,3]) { y = QuantizeLinear(x, f32[3]{0.5, 0.25, 1}, i8[3]{0, 1, 2}) return y }",
         "(x: f16[2,4]) { y = QuantizeLinear(x, f16[2,2]{0.5, 0.25, 1, 2}, block_size=2, "
         "output_dtype=22) return y }",
         "(x: f32[4]) { y = QuantizeLinear(x, f32[]{2}, f8e4m3fn[]{0}) return y }"},
};

}  // namespace longshore::ops::op_quantize_linear
