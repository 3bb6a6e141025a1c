#include "ops/conv.hpp"

namespace longshore::ops::op_q_linear_conv {
namespace {

void infer(InferContext& c) {
  infer_conv_as(c, 0, 3,
                c.input(7).dtype != DType::undefined ? c.input(7).dtype : c.input(0).dtype);
}
std::size_t scratch(const ScratchContext& c) noexcept {
  return conv_scratch(c.attributes, c.inputs[0], c.inputs[3]);
}
void facts(const NodeTypes& n, Facts& f) { conv_facts_as(n, 3, f); }
std::int64_t macs(const NodeTypes& n) { return conv_macs_as(n, 3); }

// y = requantise(sum((x - zx)(w - zw)) + bias) as ONNX Runtime computes it, whatever the graph's
// mode.
Status eval(EvalContext& c) noexcept {
  const TensorView &x = c.input(0), &w = c.input(3), &scale_w = c.input(4), &zero_w = c.input(5),
                   &bias = c.input(8);
  ConvShape s;
  LONGSHORE_TRY(conv_shape(c.attributes, x.shape, w.shape, s));
  for (std::size_t i : {1u, 2u, 6u, 7u})
    if (c.input(i).elements() != 1)
      return Status::error(Code::bad_argument,
                           "scales and zero points of x and y must be one number each");
  const std::int64_t scales = scale_w.elements(), zeros = zero_w.elements();
  if ((scales != 1 && scales != w.shape[0]) || (zeros != 1 && zeros != w.shape[0]))
    return Status::error(
        Code::bad_argument,
        "w_scale and w_zero_point must be one number or one for each output channel");
  if (bias.present() && bias.elements() != w.shape[0])
    return Status::error(Code::bad_argument, "the bias has %lld elements, not %lld",
                         static_cast<long long>(bias.elements()),
                         static_cast<long long>(w.shape[0]));
  MutableView y;
  LONGSHORE_TRY(c.output(0, s.out, y));
  const CodeRange codes = code_range(y.dtype);
  const std::int32_t low = codes.lowest,
                     high = codes.highest;  // no binding: clang 14 cannot capture one
  const std::int32_t zero_y = load_code(c.input(7), 0);
  const std::int64_t plane = s.window.out_plane();
  return run_conv<std::uint32_t>(
      c, s, x, w, load_code(c.input(2), 0),
      [&](std::int64_t m) { return load_code(zero_w, zeros == 1 ? 0 : m); },
      [&](std::int64_t n, std::int64_t m, const std::uint32_t* acc) {
        const Multiplier multiplier =
            make_multiplier(c.input(1).as<float>()[0], scale_w.as<float>()[scales == 1 ? 0 : m],
                            c.input(6).as<float>()[0]);
        const auto b = bias.present() ? static_cast<std::uint32_t>(bias.as<std::int32_t>()[m]) : 0u;
        for (std::int64_t i = 0; i < plane; i++)
          store_code(y, (n * w.shape[0] + m) * plane + i,
                     requantise(static_cast<std::int32_t>(acc[i] + b), multiplier, zero_y, low,
                                high, Rounding::f32_even));
      });
}

constexpr Types bytes = types(DType::i8, DType::u8), f32 = types(DType::f32);

}  // namespace

extern constinit const OpDef definition = {
    .name = "QLinearConv",
    .doc =
        "Convolution of 8-bit integers with explicit scales and zero points, rounded as ONNX "
        "Runtime does.",
    .since = 10,
    .schema = {.inputs = {{"x", bytes, "T1"},
                          {"x_scale", f32, {}, Presence::required, InputRole::scale},
                          {"x_zero_point", bytes, "T1", Presence::required, InputRole::zero_point},
                          {"w", bytes, "T2", Presence::required, InputRole::weights},
                          {"w_scale", f32, {}, Presence::required, InputRole::scale},
                          {"w_zero_point", bytes, "T2", Presence::required, InputRole::zero_point},
                          {"y_scale", f32, {}, Presence::required, InputRole::output_scale},
                          {"y_zero_point", bytes, "T3", Presence::required,
                           InputRole::output_zero_point},
                          {"B", types(DType::i32), {}, Presence::optional, InputRole::bias}},
               .outputs = {{"y", bytes, "T3"}},
               .attributes = conv_attributes},
    .infer = infer,
    .scratch = scratch,
    .eval = eval,
    .facts = facts,
    .macs = macs,
    .weight_axis = [](const NodeTypes&) { return 0; },
    .on_codes = "Conv",
    .examples = {"(x: u8[N,2,4,4], w: i8[2,1,3,3], b: i32[2]) { y = QLinearConv(x, f32[]{0.5}, "
                 "u8[]{7}, w, f32[2]{0.25, 0.125}, "
                 "i8[2]{0, -3}, f32[]{1.5}, u8[]{100}, b, group=2) return y }"},
};

}  // namespace longshore::ops::op_q_linear_conv
