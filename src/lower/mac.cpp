// Convolution and matrix product: output tiles of rows, columns and channels; input channels in one
// go or summed chunk by chunk in int32 accumulators.
#include <algorithm>

#include "base/error.hpp"
#include "lower/layer.hpp"
#include "tensor/activation.hpp"

namespace longshore::lower {
namespace {

using plan::Reach;
using plan::round_up;
using plan::Span;
using plan::TileShape;

/// Weights as the MAC array reads them: [out channel][tap][in channel, padded].
struct Packed {
  std::vector<std::int8_t> bytes;
  std::int64_t tap_stride = 0, out_stride = 0;
};

Packed pack(const LayerEmitter& e) {
  const Graph& g = e.graph();
  const Node& n = e.head();
  const plan::Layer& l = e.layer();
  const Tensor& w = *g.constant(n.input(1));
  const std::span<const std::int8_t> from = w.values<std::int8_t>();
  const std::int64_t taps = l.window.kernel_h * l.window.kernel_w, in = l.in.c / l.groups;
  Packed p;
  p.tap_stride = round_up(in, plan::sram_alignment(e.machine()));
  p.out_stride = taps * p.tap_stride;
  p.bytes.assign(static_cast<std::size_t>(l.out.c * p.out_stride), 0);
  const bool matrix = w.shape.rank == 2;
  const bool transposed = matrix && n.attributes.integer("transB", 0) == 0;  // [in, out]
  for (std::int64_t o = 0; o < l.out.c; o++)
    for (std::int64_t c = 0; c < in; c++)
      for (std::int64_t t = 0; t < taps; t++) {
        const std::int64_t at = transposed ? c * l.out.c + o : (o * in + c) * taps + t;
        p.bytes[static_cast<std::size_t>(o * p.out_stride + t * p.tap_stride + c)] =
            from[static_cast<std::size_t>(at)];
      }
  return p;
}

class Mac {
 public:
  explicit Mac(LayerEmitter& e)
      : e_(e), l_(e.layer()), epilogue_(mac_epilogue(e.graph(), e.head())), packed_(pack(e)) {
    weights_ = e_.pool().add(std::as_bytes(std::span(packed_.bytes)));
    parameters_ = e_.pool().add(std::as_bytes(std::span(epilogue_.parameters)));
    packed_.bytes.clear();
    in_ = l_.in.c / l_.groups;
    out_ = l_.out.c / l_.groups;
  }

  void run() {
    const plan::Tiling& t = l_.tiling;
    for (std::int64_t group = 0; group < l_.groups; group++) {
      if (t.weights_outer) {
        for (std::int64_t c = 0; c < out_; c += t.channels)
          pixels([&](const Box& box) { tile(group, box, c); });
      } else {
        pixels([&](const Box& box) {
          for (std::int64_t c = 0; c < out_; c += t.channels) tile(group, box, c);
        });
      }
    }
  }

 private:
  template <class F>
  void pixels(F&& f) {
    const plan::Tiling& t = l_.tiling;
    for (std::int64_t n = 0; n < l_.out.n; n++)
      for (std::int64_t y = 0; y < l_.out.h; y += t.rows)
        for (std::int64_t x = 0; x < l_.out.w; x += t.columns)
          f(Box{
              n, {y, std::min(l_.out.h, y + t.rows)}, {x, std::min(l_.out.w, x + t.columns)}, {}});
  }

  void tile(std::int64_t group, Box box, std::int64_t c) {
    const plan::Tiling& t = l_.tiling;
    box.c = {group * out_ + c, group * out_ + std::min(out_, c + t.channels)};
    const Reach rows = plan::input_reach(l_, box.h, false),
                columns = plan::input_reach(l_, box.w, true);
    const TileShape out = plan::tile_shape(e_.machine(), box.h.size(), box.w.size(), box.c.size());
    const std::uint32_t to = e_.head_out();
    for (std::int64_t k = 0; k < in_; k += t.in_channels) {
      const Span chunk = {k, std::min(in_, k + t.in_channels)};
      Conv conv;
      conv.accumulate = k > 0;
      conv.finish = chunk.to == in_;
      weights(group, c, box.c, chunk, conv);
      const TileShape in =
          plan::tile_shape(e_.machine(), rows.in.size(), columns.in.size(), chunk.size());
      const Box from{
          box.n, rows.in, columns.in, {group * in_ + chunk.from, group * in_ + chunk.to}};
      conv.in = e_.tile(e_.input(from, in), in);
      conv.in_h = static_cast<std::uint32_t>(in.rows),
      conv.in_w = static_cast<std::uint32_t>(in.columns);
      conv.in_c = static_cast<std::uint32_t>(chunk.size());
      conv.in_zero = epilogue_.in.zero;
      window(conv, rows, columns);
      if (t.in_channels < in_) {
        conv.accumulators = e_.tile(e_.accumulators(), out);
        conv.accumulators.row_stride *= 4;
        conv.accumulators.pixel_stride *= 4;
      }
      conv.out = e_.tile(to, out);
      conv.out_h = static_cast<std::uint32_t>(out.rows),
      conv.out_w = static_cast<std::uint32_t>(out.columns);
      conv.out_c = static_cast<std::uint32_t>(out.channels);
      conv.out_zero = epilogue_.out.zero;
      conv.lowest = epilogue_.out.lowest, conv.highest = epilogue_.out.highest;
      conv.rounding = e_.rounding();
      e_.emit(Queue::mac, conv);
    }
    e_.finish_tile(box, to, out);
  }

  void window(Conv& conv, const Reach& rows, const Reach& columns) const {
    const plan::Window& w = l_.window;
    const auto u32 = [](std::int64_t v) { return static_cast<std::uint32_t>(v); };
    conv.kernel_h = u32(w.kernel_h), conv.kernel_w = u32(w.kernel_w);
    conv.stride_h = u32(w.stride_h), conv.stride_w = u32(w.stride_w);
    conv.dilation_h = u32(w.dilation_h), conv.dilation_w = u32(w.dilation_w);
    conv.pad_top = u32(rows.before), conv.pad_bottom = u32(rows.after);
    conv.pad_left = u32(columns.before), conv.pad_right = u32(columns.after);
  }

  /// A block of weights and its parameters, behind one another in one slot.
  void weights(std::int64_t group, std::int64_t c, Span out, Span in, Conv& conv) {
    bool fresh = false;
    const std::uint32_t sram = e_.weight_turns().take({group, c, in.from, 0}, fresh);
    const std::int64_t taps = l_.window.kernel_h * l_.window.kernel_w,
                       a = plan::sram_alignment(e_.machine());
    const std::int64_t tap_stride = round_up(in.size(), a), out_stride = taps * tap_stride;
    conv.weights = sram;
    conv.weight_tap_stride = static_cast<std::uint32_t>(tap_stride);
    conv.weight_out_stride = static_cast<std::uint32_t>(out_stride);
    conv.parameters = sram + static_cast<std::uint32_t>(round_up(out.size() * out_stride, a));
    if (!fresh) return;
    Dma base;
    base.dram = Dram::constants;
    base.dram_address =
        weights_ + static_cast<std::uint64_t>(out.from * packed_.out_stride + in.from);
    base.sram_address = sram;
    const auto u64 = [](std::int64_t v) { return static_cast<std::uint64_t>(v); };
    // The last chunk's padding lies in the constants; that of others would be the next chunk.
    const std::int64_t run = in.to == in_ ? tap_stride : in.size();
    for (const Dma& d : plan::transfers(base,
                                        {{out.size(), u64(packed_.out_stride), u64(out_stride)},
                                         {taps, u64(packed_.tap_stride), u64(tap_stride)}},
                                        run, e_.machine().dma_dims))
      e_.emit(Queue::dma_in, d);
    e_.load_constants(parameters_ + u64(out.from) * sizeof(ChannelParameters),
                      out.size() * static_cast<std::int64_t>(sizeof(ChannelParameters)),
                      conv.parameters);
  }

  LayerEmitter& e_;
  const plan::Layer& l_;
  MacEpilogue epilogue_;
  Packed packed_;
  std::uint64_t weights_ = 0, parameters_ = 0;
  std::int64_t in_ = 1, out_ = 1;
};

}  // namespace

MacEpilogue mac_epilogue(const Graph& g, const Node& n) {
  MacEpilogue out;
  const TensorType &x = g[n.input(0)].type, &y = g[n.output()].type;
  const Quantisation& w = g[n.input(1)].type.quant;
  out.in = codes_of(x);
  out.out = codes_of(y);
  Activation activation;
  require(Activation::from(n.attributes, activation), describe(n));
  Codes& c = out.out;
  activation.narrow(c.scale, c.zero, c.lowest, c.highest);
  const Tensor* bias = g.constant(n.input(2));
  const std::int64_t channels = extent_of(y)->c;
  for (std::int64_t o = 0; o < channels; o++) {
    const Multiplier m = make_multiplier(
        x.quant.scale[0], w.scale[w.scale.size() == 1 ? 0 : static_cast<std::size_t>(o)], c.scale);
    std::int32_t b = 0;
    if (bias)
      b = bias->values<std::int32_t>()[bias->elements() == 1 ? 0 : static_cast<std::size_t>(o)];
    out.parameters.push_back({b, m.real, m.fixed, m.exponent});
  }
  return out;
}

void lower_mac(LayerEmitter& e) { Mac(e).run(); }

}  // namespace longshore::lower
