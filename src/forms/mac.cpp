// Convolution and matrix product: output tiles of rows, columns and channels; input channels in one
// go or summed block by block in int32 accumulators. A grouped convolution takes one instruction
// for each group.
#include "forms/support/mac.hpp"
#include "sim/costs.hpp"

namespace longshore::forms {
extern const FormDef form_mac;
namespace {

constexpr std::size_t weights = 0;

/// The second matrix of a product comes from another node.
bool computed(const FormSpec& s) { return s.other >= 0; }
/// Computed weights have their parameters in an operand of their own.
std::size_t data(const FormSpec& s) { return computed(s) ? 2 : 1; }

std::vector<Operand> operands(const FormSpec& s) {
  if (computed(s))
    return {
        {.input = s.weights, .matrix = true}, {.source = Operand::Source::made}, {.input = s.data}};
  return {{.source = Operand::Source::packed, .input = s.weights}, {.input = s.data}};
}

std::int64_t group_in(const FormNode& n) { return n.in.c / n.spec.groups; }
std::int64_t group_out(const FormNode& n) { return n.out.c / n.spec.groups; }
std::int64_t taps(const FormNode& n) { return n.spec.window.taps(); }

/// Output channels never cross a group; `over.c` counts inside the group.
Box reach(const FormNode& n, std::size_t operand, const TileBox& tile) {
  const std::int64_t group = tile.out.c.from / group_out(n), first = group * group_in(n);
  if (operand != data(n.spec)) {
    if (!computed(n.spec)) return {group, {0, 1}, tile.over.c, tile.out.c};
    const int rank = n.type(n.input(n.spec.weights)).rank();
    const std::int64_t matrix = rank == 4 ? tile.out.h.from : rank == 3 ? tile.out.n : 0;
    return operand == weights ? Box{matrix, tile.out.c, {0, 1}, tile.over.c}
                              : Box{0, {0, 1}, {0, 1}, tile.out.c};
  }
  return {tile.out.n,
          reach_of(n.spec.window, 1, tile.out.h, n.in.h).in,
          reach_of(n.spec.window, 2, tile.out.w, n.in.w).in,
          {first + tile.over.c.from, first + tile.over.c.to}};
}

TileRules rules(const FormNode& n, const Machine& m) {
  return {.channel_grain = m.mac_columns,
          .input_grain = m.mac_rows,
          .sums_channels = true,
          .single_rows = computed(n.spec) && n.type(n.input(n.spec.weights)).rank() == 4};
}

/// Of one weight.
std::int64_t weight_size(const FormNode& n) { return n.element_bytes(n.input(n.spec.weights)); }

std::int64_t weight_bytes(const FormNode& n, std::int64_t out, std::int64_t in, const Machine& m) {
  return out * taps(n) * round_up(in * weight_size(n), sram_alignment(m));
}

std::int64_t slot_bytes(const FormNode& n, std::size_t operand, const Tiling& t, const Machine& m) {
  const std::int64_t own = weight_bytes(n, t.channels, t.in_channels, m),
                     parameters = t.channels * static_cast<std::int64_t>(sizeof(ChannelParameters));
  if (computed(n.spec)) return operand == weights ? own : parameters;
  return parameters_at(own, m) + parameters;
}

/// The parameters of a tile's channels.
std::vector<std::byte> make(const FormNode& n, std::size_t, const TileBox& tile) {
  const std::vector<ChannelParameters> all = mac_parameters(n);
  const auto bytes = std::as_bytes(std::span(all).subspan(
      static_cast<std::size_t>(tile.out.c.from), static_cast<std::size_t>(tile.out.c.size())));
  return {bytes.begin(), bytes.end()};
}

/// A sum for each element of the result, its padding included.
std::int64_t accumulator_bytes(const FormNode& n, const Tiling& t, const Machine& m) {
  const std::int64_t element = n.element_bytes(n.result());
  return tile_shape(m, t.rows, t.columns, t.channels, element).bytes() / element *
         sum_bytes(n.type(n.data()).dtype);
}

double cycles(const FormNode& n, const Tiling& t, const Machine& m) {
  const auto u32 = [](std::int64_t v) { return static_cast<std::uint32_t>(v); };
  Conv c;
  set_types(c, n);
  const Window& w = n.spec.window;
  c.kernel_h = u32(w.kernel[1]), c.kernel_w = u32(w.kernel[2]);
  c.stride_h = u32(w.stride[1]), c.stride_w = u32(w.stride[2]);
  c.dilation_h = u32(w.dilation[1]), c.dilation_w = u32(w.dilation[2]);
  c.out_h = u32(t.rows), c.out_w = u32(t.columns), c.out_c = u32(t.channels);
  c.in_c = u32(t.in_channels);
  return conv_cycles(m, c);
}

/// [out channel][tap][in channel, padded], then the parameters of the channels.
std::vector<std::byte> pack(const FormNode& n, std::size_t, const Machine& m) {
  const std::vector<std::int16_t> from = constant_weights(n);
  const std::int64_t in = group_in(n), size = weight_size(n),
                     tap_stride = round_up(in * size, sram_alignment(m)),
                     out_stride = taps(n) * tap_stride;
  std::vector<std::byte> bytes(static_cast<std::size_t>(n.out.c * out_stride));
  for (std::int64_t o = 0; o < n.out.c; o++)
    for (std::int64_t c = 0; c < in; c++)
      for (std::int64_t t = 0; t < taps(n); t++) {
        const std::int64_t source =
            n.spec.weights_by_input ? c * n.out.c + o : (o * in + c) * taps(n) + t;
        put_weight(bytes, (o * out_stride + t * tap_stride) / size + c, size,
                   from[static_cast<std::size_t>(source)]);
      }
  return with_parameters(std::move(bytes), mac_parameters(n));
}

std::vector<Fetch> fetch(const FormNode& n, std::size_t operand, const TileBox& tile,
                         const Machine& m) {
  const auto u64 = [](std::int64_t v) { return static_cast<std::uint64_t>(v); };
  const Box box = reach(n, operand, tile);
  const std::int64_t a = sram_alignment(m), each = weight_size(n),
                     from_tap = round_up(group_in(n) * each, a), from_out = taps(n) * from_tap;
  const std::int64_t to_tap = round_up(box.w.size() * each, a), to_out = taps(n) * to_tap;
  // The last block's padding lies in the constants; that of others would be the next block.
  const std::int64_t run = box.w.to == group_in(n) ? to_tap : box.w.size() * each;
  const std::int64_t parameters = round_up(n.out.c * from_out, 64);
  const auto size = static_cast<std::int64_t>(sizeof(ChannelParameters));
  return {{u64(box.c.from * from_out + box.w.from * each),
           0,
           {{box.c.size(), u64(from_out), u64(to_out)}, {taps(n), u64(from_tap), u64(to_tap)}},
           run},
          {u64(parameters + box.c.from * size),
           static_cast<std::uint32_t>(parameters_at(box.c.size() * to_out, m)),
           {},
           box.c.size() * size}};
}

void emit(const FormNode& n, const TileTask& task, TileEmitter& e) {
  const std::int64_t in = task.box.over.c.size(), out = task.box.out.c.size(),
                     tap_stride = round_up(in * weight_size(n), sram_alignment(e.machine())),
                     out_stride = taps(n) * tap_stride;
  const std::uint32_t at = e.operand(weights).address;
  Conv conv;
  set_tile(conv, n, task, e, data(n.spec));
  conv.weights = at;
  conv.weight_tap_stride = static_cast<std::uint32_t>(tap_stride);
  conv.weight_out_stride = static_cast<std::uint32_t>(out_stride);
  conv.parameters =
      computed(n.spec)
          ? e.operand(1).address
          : at + static_cast<std::uint32_t>(parameters_at(out * out_stride, e.machine()));
  e.emit(Queue::mac, conv);
}

}  // namespace

extern constinit const FormDef form_mac = {
    .name = "mac",
    .doc = "Convolution with constant weights and matrix product, on the MAC array.",
    .dtypes = {DType::i8, DType::i16},
    .reads = {DType::u8},
    .order = mac_order,
    .limits = mac_limits,
    .operands = operands,
    .reach = reach,
    .rules = rules,
    .slot_bytes = slot_bytes,
    .accumulator_bytes = accumulator_bytes,
    .queue = Queue::mac,
    .cycles = cycles,
    .pack = pack,
    .fetch = fetch,
    .make = make,
    .emit = emit,
    .examples = {R"((x: i8[1,4,9,7] q(0.1, 3)) {
      y: i8[1,6,5,4] q(0.05, -5) = Conv(x, i8[6,2,3,3] q(0.02, 0) {
        1,-2,3,4,5,6,-7,8,9, 10,11,-12,13,14,15,16,-17,18, 1,2,3,4,5,6,7,8,9, -1,-2,-3,-4,-5,-6,-7,-8,-9,
        1,-2,3,4,5,6,-7,8,9, 10,11,-12,13,14,15,16,-17,18, 1,2,3,4,5,6,7,8,9, -1,-2,-3,-4,-5,-6,-7,-8,-9,
        1,-2,3,4,5,6,-7,8,9, 10,11,-12,13,14,15,16,-17,18, 1,2,3,4,5,6,7,8,9, -1,-2,-3,-4,-5,-6,-7,-8,-9},
        group=2, pads=[1,1,1,1], strides=[2,2]) return y })",
                 R"((x: i8[3,2] q(0.5, 3)) {
      y: i8[3,2] q(2, 4) = MatMul(x, i8[2,2] q([0.25, 0.5], [0, 0], axis=1) {1, -2, 3, 4}) return y })",
                 R"((x: i8[6,16] q(0.1, 3), z: i8[16,5] q(0.2, 0)) {
      y: i8[6,5] q(0.5, 2) = MatMul(x, z) return y })",
                 R"((x: i8[2,6,16] q(0.1, 3), z: i8[2,16,5] q(0.2, 0)) {
      y: i8[2,6,5] q(0.5, 2) = MatMul(x, z) return y })",
                 R"((x: i8[1,3,6,16] q(0.1, 3), k: i8[1,7,3,16] q(0.2, 0)) {
      a: i8[1,7,3,16] q(0.2, 0) = Tanh(k)
      z: i8[1,3,16,7] q(0.2, 0) = Transpose(a, perm=[0,2,3,1])
      y: i8[1,3,6,7] q(0.5, 2) = MatMul(x, z) return y })",
                 R"((x: i8[2,7,3] q(0.5, 3)) {
      y: i8[2,7,2] q(0.5, 4) = com.microsoft.FusedGemm(x, i8[2,3] q([0.25, 0.5], [0, 0], axis=0) {1, -2, 3, 4, 5, -6},
        i32[2] q([0.125, 0.25], [0, 0], axis=0) {10, -20}, transB=1) return y })",
                 R"((x: i8[2,3,5,4] q(0.5, 3), z: i8[4,6] q(0.2, 0)) {
      y: i8[2,3,5,6] q(0.5, 2) = MatMul(x, z) return y })",
                 R"((x: i8[1,4,3,5] q(0.1, 3), r: i8[1,12,6] q(0.05, 1)) {
      a: i8[1,6,3,5] q(0.05, 1) = Conv(x, i8[6,4,1,1] q(0.02, 0) {5})
      b: i8[1,6,15] q(0.05, 1) = Reshape(a, i64[3]{1, 6, 15})
      c: i8[1,15,6] q(0.05, 1) = Transpose(b, perm=[0,2,1])
      d: i8[1,15,6] q(0.03, 2) = MatMul(c, i8[6,6] q(0.1, 0) {3})
      e: i8[1,12,6] q(0.03, 2) = Slice(d, i64[1]{0}, i64[1]{12}, i64[1]{1})
      y: i8[1,12,6] q(0.1, 0) = Add(e, r) return y })"},
};

}  // namespace longshore::forms
