#include "program/instructions/conv.hpp"

#include "program/access.hpp"
#include "program/check.hpp"
#include "program/instruction_def.hpp"

namespace longshore::instructions {
namespace {

constexpr Types data = types(DType::i8, DType::u8, DType::i16),
                codes = types(DType::i8, DType::i16), sums = types(DType::i32, DType::i64);

constexpr Field weight_dtype = [] {
  Field f = LONGSHORE_LIMITED(Conv, dtype, weight_dtype, dtype_count - 1);
  f.types = codes;
  return f;
}();

constexpr auto fields = field_list(
    LONGSHORE_FIELD(Conv, flag, depthwise), LONGSHORE_FIELD(Conv, flag, accumulate),
    LONGSHORE_FIELD(Conv, flag, finish), LONGSHORE_TILE(Conv, in, data),
    LONGSHORE_FIELD(Conv, extent, in_h), LONGSHORE_FIELD(Conv, extent, in_w),
    LONGSHORE_FIELD(Conv, extent, in_c), LONGSHORE_CODE(Conv, in_zero, in), window_fields<Conv>,
    LONGSHORE_FIELD(Conv, address, weights), LONGSHORE_FIELD(Conv, stride, weight_out_stride),
    LONGSHORE_FIELD(Conv, stride, weight_tap_stride), weight_dtype,
    LONGSHORE_FIELD(Conv, address, parameters), LONGSHORE_TILE(Conv, accumulators, sums),
    LONGSHORE_TILE(Conv, out, codes), LONGSHORE_FIELD(Conv, extent, out_h),
    LONGSHORE_FIELD(Conv, extent, out_w), LONGSHORE_FIELD(Conv, extent, out_c),
    LONGSHORE_CLAMP(Conv, out), LONGSHORE_LIMITED(Conv, flag, rounding, 2));

void regions(const Conv& c, Queue, Regions& out) {
  out.add(tile_region("in", c.in, c.in_h, c.in_w, c.in_c));
  // Filters and taps stand for rows and pixels of a tile of in_c channels.
  const Tile weights{c.weights, c.weight_out_stride, c.weight_tap_stride, c.weight_dtype};
  out.add(tile_region("weights", weights, c.depthwise ? 1 : c.out_c,
                      std::uint64_t{c.kernel_h} * c.kernel_w, c.in_c));
  const Region sums = tile_region("accumulators", c.accumulators, c.out_h, c.out_w, c.out_c);
  if (c.accumulate) out.add(in_place(sums));
  if (c.finish) {
    out.add(restricted(plain_region("parameters", c.parameters,
                                    std::uint64_t{c.out_c} * sizeof(ChannelParameters), 4)));
    out.add(written(tile_region("out", c.out, c.out_h, c.out_w, c.out_c)));
  } else {
    out.add(written(sums));
  }
}

std::uint64_t multiplies(const Conv& c) {
  const std::uint64_t out = std::uint64_t{c.out_h} * c.out_w * c.out_c;
  return out * c.kernel_h * c.kernel_w * (c.depthwise ? 1 : c.in_c);
}

/// Which types go together.
Status check_types(const Conv& c, const Machine& m) {
  const auto text = [](DType t) { return name(t).data(); };  // of literals
  const bool wide = c.in.dtype == DType::i16;
  if (!(m.mac_rate(c.in.dtype, c.weight_dtype) > 0))
    return refuse("the machine multiplies no %s by %s", text(c.in.dtype), text(c.weight_dtype));
  if (wide && c.in_zero != 0) return refuse("in_zero is %d, expected 0 of 16-bit codes", c.in_zero);
  if (c.finish && !wide && c.out.dtype == DType::i16)
    return refuse("16-bit outputs of 8-bit inputs");
  if ((c.accumulate || !c.finish) && c.accumulators.dtype != (wide ? DType::i64 : DType::i32))
    return refuse("sums of %s are not %s", text(c.in.dtype), text(c.accumulators.dtype));
  return {};
}

Status check(const Conv& c, const Machine& m, Queue) {
  LONGSHORE_TRY(check_types(c, m));
  LONGSHORE_TRY(check_clamp(c));
  LONGSHORE_TRY(check_windows(c));
  if (c.depthwise && c.in_c != c.out_c)
    return refuse("depthwise with %u input and %u output channels", c.in_c, c.out_c);
  if (c.depthwise && m.depthwise_lanes == 0) return refuse("the machine has no depthwise mode");
  if (m.accumulators > 0 && std::uint64_t{c.out_h} * c.out_w * c.out_c > m.accumulators)
    return refuse("%u x %u x %u outputs, the machine has %u accumulators", c.out_h, c.out_w,
                  c.out_c, m.accumulators);
  const Wide work =
      Wide{c.out_h} * c.out_w * c.out_c * c.kernel_h * c.kernel_w * (c.depthwise ? 1 : c.in_c);
  if (work > most_work) return refuse("too much work for one instruction");
  // The simulator widens the padded tile and the weights.
  const Wide padded = (Wide{c.pad_top} + c.in_h + c.pad_bottom) *
                      (Wide{c.pad_left} + c.in_w + c.pad_right) * c.in_c;
  const Wide weights = Wide{c.kernel_h} * c.kernel_w * c.in_c * (c.depthwise ? 1 : c.out_c);
  if (padded > most_tile || weights > most_tile)
    return refuse("too large a tile for one instruction");
  if (c.finish && !m.rounds(static_cast<int>(c.rounding)))
    return refuse("the machine lacks this rounding mode");
  LONGSHORE_TRY(aligned("in", c.in.address, m.mac_alignment));
  LONGSHORE_TRY(aligned("in_pixel_stride", c.in_w > 1 ? c.in.pixel_stride : 0, m.mac_alignment));
  LONGSHORE_TRY(aligned("in_row_stride", c.in_h > 1 ? c.in.row_stride : 0, m.mac_alignment));
  LONGSHORE_TRY(aligned("weights", c.weights, m.mac_alignment));
  if (c.finish) {
    LONGSHORE_TRY(aligned("parameters", c.parameters, m.mac_alignment));
    LONGSHORE_TRY(aligned("out", c.out.address, m.vector_alignment));
  }
  return {};
}

bool uses(const Conv& c, std::string_view f) {
  if (!c.finish && (f == "parameters" || f.starts_with("out_zero") || f == "lowest" ||
                    f == "highest" || f == "rounding" || f == "out" || f == "out_row_stride" ||
                    f == "out_pixel_stride" || f == "out_dtype"))
    return false;
  if (c.finish && !c.accumulate && f.starts_with("accumulators")) return false;
  if (f == "weight_out_stride") return !c.depthwise && c.out_c > 1;
  if (f == "weight_tap_stride") return c.kernel_h > 1 || c.kernel_w > 1;
  // Padding behind the tile lets windows fit; where it ends is in no formula.
  return f != "pad_bottom" && f != "pad_right" && !idle_window(f, c) &&
         !idle_stride(f, "in", c.in_h, c.in_w) && !idle_stride(f, "out", c.out_h, c.out_w) &&
         !idle_stride(f, "accumulators", c.out_h, c.out_w);
}

}  // namespace

extern constinit const InstructionDef instruction_conv = {
    .name = "conv",
    .doc = "Convolution, depthwise convolution or gemm, in parts of the channels if need be.",
    .queues = {Queue::mac},
    .operands = operand_struct<Conv>(),
    .fields = fields,
    .regions = erased<regions>,
    .check = erased<check>,
    .macs = erased<multiplies>,
    .uses = erased<uses>,
};

}  // namespace longshore::instructions
