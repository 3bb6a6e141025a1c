#include "ops/conv.hpp"

namespace longshore::ops::op_conv_integer {
namespace {

void infer(InferContext& c) { infer_conv_as(c, 0, 1, DType::i32); }
std::size_t scratch(const ScratchContext& c) noexcept {
  return conv_scratch(c.attributes, c.inputs[0], c.inputs[1]);
}
void facts(const NodeTypes& n, Facts& f) { conv_facts_as(n, 1, f); }
std::int64_t macs(const NodeTypes& n) { return conv_macs_as(n, 1); }

Status eval(EvalContext& c) noexcept {
  const TensorView &x = c.input(0), &w = c.input(1), &zero_x = c.input(2), &zero_w = c.input(3);
  ConvShape s;
  LONGSHORE_TRY(conv_shape(c.attributes, x.shape, w.shape, s));
  if (zero_x.present() && zero_x.elements() != 1)
    return Status::error(Code::bad_argument, "x_zero_point must be one number");
  const std::int64_t zeros = zero_w.present() ? zero_w.elements() : 1;
  if (zeros != 1 && zeros != w.shape[0])
    return Status::error(Code::bad_argument,
                         "w_zero_point must be one number or one for each output channel");
  MutableView y;
  LONGSHORE_TRY(c.output(0, s.out, y));
  const std::int64_t plane = s.window.out_plane();
  return run_conv<std::uint32_t>(
      c, s, x, w, zero_x.present() ? load_code(zero_x, 0) : 0,
      [&](std::int64_t m) { return zero_w.present() ? load_code(zero_w, zeros == 1 ? 0 : m) : 0; },
      [&](std::int64_t n, std::int64_t m, const std::uint32_t* acc) {
        std::memcpy(y.as<std::int32_t>() + (n * w.shape[0] + m) * plane, acc,
                    static_cast<std::size_t>(plane) * sizeof(std::int32_t));
      });
}

constexpr Types bytes = types(DType::i8, DType::u8);

}  // namespace

extern constinit const OpDef definition = {
    .name = "ConvInteger",
    .doc = "Convolution of 8-bit integers less their zero points, in int32.",
    .since = 10,
    .schema = {.inputs = {{"x", bytes, "T1"},
                          {"w", bytes, "T2"},
                          {"x_zero_point", bytes, "T1", Presence::optional},
                          {"w_zero_point", bytes, "T2", Presence::optional}},
               .outputs = {{"y", types(DType::i32)}},
               .attributes = conv_attributes},
    .infer = infer,
    .scratch = scratch,
    .eval = eval,
    .facts = facts,
    .macs = macs,
    .examples = {"(x: u8[N,2,4,4], w: i8[3,2,3,3]) { y = ConvInteger(x, w, u8[]{3}, i8[3]{0, 1, "
                 "-2}, pads=[1,1,1,1]) return y }"},
};

}  // namespace longshore::ops::op_conv_integer
