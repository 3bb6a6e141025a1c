// Depthwise convolution: channels are independent, so a tile has the same channels in and out.
#include "base/error.hpp"
#include "forms/support/mac.hpp"
#include "sim/costs.hpp"

namespace longshore::forms {
namespace {

constexpr std::size_t weights = 0, data = 1;

bool applies(const FormNode& n) {
  const ValueId w = n.input(n.spec.weights);
  if (n.spec.groups < 2 || w == no_value) return false;
  const std::optional<Shape> s = n.type(w).shape();
  return s && s->rank >= 3 && (*s)[1] == 1 && (*s)[0] == n.spec.groups;
}

void limits(const FormNode& n, const Unit& unit, Reasons& out) {
  if (unit.machine.depthwise_lanes == 0)
    out.lacks(unit, "depthwise mode", "npu.mac.depthwise_lanes");
  mac_limits(n, unit, out);
}

std::vector<Operand> operands(const FormSpec& s) {
  return {{.source = Operand::Source::packed, .input = s.weights}, {.input = s.data}};
}

std::int64_t taps(const FormNode& n) { return n.spec.window.taps(); }
std::int64_t weight_bytes(const FormNode& n) { return n.element_bytes(n.input(n.spec.weights)); }

Box reach(const FormNode& n, std::size_t operand, const TileBox& tile) {
  if (operand == weights) return {0, {0, 1}, {0, 1}, tile.out.c};
  return {tile.out.n, reach_of(n.spec.window, 1, tile.out.h, n.in.h).in,
          reach_of(n.spec.window, 2, tile.out.w, n.in.w).in, tile.out.c};
}

TileRules rules(const FormNode&, const Machine& m) {
  return {.channel_grain = std::max<std::int64_t>(m.depthwise_lanes, 1)};
}

std::int64_t slot_bytes(const FormNode& n, std::size_t, const Tiling& t, const Machine& m) {
  return parameters_at(taps(n) * round_up(t.channels * weight_bytes(n), sram_alignment(m)), m) +
         t.channels * static_cast<std::int64_t>(sizeof(ChannelParameters));
}

double cycles(const FormNode& n, const Tiling& t, const Machine& m) {
  const auto u32 = [](std::int64_t v) { return static_cast<std::uint32_t>(v); };
  Conv c;
  c.depthwise = true;
  set_types(c, n);
  c.kernel_h = u32(n.spec.window.kernel[1]), c.kernel_w = u32(n.spec.window.kernel[2]);
  c.out_h = u32(t.rows), c.out_w = u32(t.columns), c.out_c = c.in_c = u32(t.channels);
  return conv_cycles(m, c);
}

/// [tap][channel, padded], then the parameters of the channels.
std::vector<std::byte> pack(const FormNode& n, std::size_t, const Machine& m) {
  const std::vector<std::int16_t> from = constant_weights(n);
  const std::int64_t size = weight_bytes(n), stride = round_up(n.out.c * size, sram_alignment(m));
  std::vector<std::byte> bytes(static_cast<std::size_t>(taps(n) * stride));
  for (std::int64_t c = 0; c < n.out.c; c++)
    for (std::int64_t t = 0; t < taps(n); t++)
      put_weight(bytes, t * (stride / size) + c, size,
                 from[static_cast<std::size_t>(c * taps(n) + t)]);
  return with_parameters(std::move(bytes), mac_parameters(n));
}

std::vector<Fetch> fetch(const FormNode& n, std::size_t, const TileBox& tile, const Machine& m) {
  const auto u64 = [](std::int64_t v) { return static_cast<std::uint64_t>(v); };
  const Span channels = tile.out.c;
  const std::int64_t a = sram_alignment(m), each = weight_bytes(n),
                     from_tap = round_up(n.out.c * each, a),
                     to_tap = round_up(channels.size() * each, a);
  const std::int64_t run = channels.to == n.out.c ? to_tap : channels.size() * each;
  const auto size = static_cast<std::int64_t>(sizeof(ChannelParameters));
  return {{u64(channels.from * each), 0, {{taps(n), u64(from_tap), u64(to_tap)}}, run},
          {u64(round_up(taps(n) * from_tap, 64) + channels.from * size),
           static_cast<std::uint32_t>(parameters_at(taps(n) * to_tap, m)),
           {},
           channels.size() * size}};
}

void emit(const FormNode& n, const TileTask& task, TileEmitter& e) {
  const std::int64_t tap_stride =
      round_up(task.box.out.c.size() * weight_bytes(n), sram_alignment(e.machine()));
  const std::uint32_t at = e.operand(weights).address;
  Conv conv;
  conv.depthwise = true;
  set_tile(conv, n, task, e, data);
  conv.weights = at;
  conv.weight_tap_stride = static_cast<std::uint32_t>(tap_stride);
  conv.parameters =
      at + static_cast<std::uint32_t>(parameters_at(taps(n) * tap_stride, e.machine()));
  e.emit(Queue::mac, conv);
}

}  // namespace

extern constinit const FormDef form_depthwise = {
    .name = "depthwise",
    .doc = "Convolution whose groups are its channels, on the MAC array's depthwise mode.",
    .like = "mac",
    .applies = applies,
    .dtypes = {DType::i8, DType::i16},
    .reads = {DType::u8},
    .order = [](const FormNode&) { return std::optional(AxisOrder::channels_first); },
    .limits = limits,
    .operands = operands,
    .reach = reach,
    .rules = rules,
    .slot_bytes = slot_bytes,
    .queue = Queue::mac,
    .cycles = cycles,
    .pack = pack,
    .fetch = fetch,
    .emit = emit,
    .examples = {R"((x: i8[2,3,6,5] q(0.1, 3)) {
      y: i8[2,3,6,5] q(0.05, -5) = Conv(x, i8[3,1,3,3] q([0.02,0.03,0.01], [0,0,0], axis=0) {
        1,-2,3,4,5,6,-7,8,9, 10,11,-12,13,14,15,16,-17,18, 1,2,3,4,5,6,7,8,9}, group=3, pads=[1,1,1,1])
      return y })",
                 R"((x: i16[2,3,6,5] q(0.001, 0)) {
      y: i16[2,3,3,3] q(0.0005, 0) = Conv(x, i8[3,1,3,3] q([0.02,0.03,0.01], [0,0,0], axis=0) {
        1,-2,3,4,5,6,-7,8,9, 10,11,-12,13,14,15,16,-17,18, 1,2,3,4,5,6,7,8,9}, group=3, pads=[1,1,1,1],
        strides=[2,2]) return y })"},
};

}  // namespace longshore::forms
