// Depthwise convolution: channels are independent, so a tile has the same channels in and out.
#include <algorithm>

#include "program/instructions/conv.hpp"
#include "program/instructions/dma.hpp"
#include "lower/layer.hpp"

namespace longshore::lower {
namespace {

using plan::Reach;
using plan::round_up;
using plan::TileShape;

class Depthwise {
 public:
  explicit Depthwise(LayerEmitter& e)
      : e_(e), l_(e.layer()), epilogue_(mac_epilogue(e.graph(), e.head())) {
    const std::span<const std::int8_t> from =
        e.graph().constant(e.head().input(1))->values<std::int8_t>();
    taps_ = l_.window.kernel_h * l_.window.kernel_w;
    stride_ = round_up(l_.out.c, plan::sram_alignment(e.machine()));
    std::vector<std::int8_t> packed(static_cast<std::size_t>(taps_ * stride_));
    for (std::int64_t c = 0; c < l_.out.c; c++)
      for (std::int64_t t = 0; t < taps_; t++)
        packed[static_cast<std::size_t>(t * stride_ + c)] =
            from[static_cast<std::size_t>(c * taps_ + t)];
    weights_ = e.pool().add(std::as_bytes(std::span(packed)));
    parameters_ = e.pool().add(std::as_bytes(std::span(epilogue_.parameters)));
  }

  void run() {
    const plan::Tiling& t = l_.tiling;
    for (std::int64_t n = 0; n < l_.out.n; n++)
      for (std::int64_t c = 0; c < l_.out.c; c += t.channels)
        for (std::int64_t y = 0; y < l_.out.h; y += t.rows)
          for (std::int64_t x = 0; x < l_.out.w; x += t.columns)
            tile({n,
                  {y, std::min(l_.out.h, y + t.rows)},
                  {x, std::min(l_.out.w, x + t.columns)},
                  {c, std::min(l_.out.c, c + t.channels)}});
  }

 private:
  void tile(const Box& box) {
    const Reach rows = plan::input_reach(l_, box.h, false),
                columns = plan::input_reach(l_, box.w, true);
    const TileShape in =
        plan::tile_shape(e_.machine(), rows.in.size(), columns.in.size(), box.c.size());
    const TileShape out = plan::tile_shape(e_.machine(), box.h.size(), box.w.size(), box.c.size());
    const auto u32 = [](std::int64_t v) { return static_cast<std::uint32_t>(v); };
    Conv conv;
    conv.depthwise = true;
    weights(box.c, conv);
    const Box from{box.n, rows.in, columns.in, box.c};
    conv.in = e_.tile(e_.input(from, in), in);
    conv.in_h = u32(in.rows), conv.in_w = u32(in.columns), conv.in_c = u32(in.channels);
    conv.in_zero = epilogue_.in.zero;
    const plan::Window& w = l_.window;
    conv.kernel_h = u32(w.kernel_h), conv.kernel_w = u32(w.kernel_w);
    conv.stride_h = u32(w.stride_h), conv.stride_w = u32(w.stride_w);
    conv.dilation_h = u32(w.dilation_h), conv.dilation_w = u32(w.dilation_w);
    conv.pad_top = u32(rows.before), conv.pad_bottom = u32(rows.after);
    conv.pad_left = u32(columns.before), conv.pad_right = u32(columns.after);
    const std::uint32_t to = e_.head_out();
    conv.out = e_.tile(to, out);
    conv.out_h = u32(out.rows), conv.out_w = u32(out.columns), conv.out_c = u32(out.channels);
    conv.out_zero = epilogue_.out.zero;
    conv.lowest = epilogue_.out.lowest, conv.highest = epilogue_.out.highest;
    conv.rounding = e_.rounding();
    e_.emit(Queue::mac, conv);
    e_.finish_tile(box, to, out);
  }

  void weights(plan::Span channels, Conv& conv) {
    bool fresh = false;
    const std::uint32_t sram = e_.weight_turns().take({channels.from, 0, 0, 0}, fresh);
    const std::int64_t a = plan::sram_alignment(e_.machine()),
                       tap_stride = round_up(channels.size(), a);
    conv.weights = sram;
    conv.weight_tap_stride = static_cast<std::uint32_t>(tap_stride);
    conv.parameters = sram + static_cast<std::uint32_t>(round_up(taps_ * tap_stride, a));
    if (!fresh) return;
    Dma base;
    base.dram = Dram::constants;
    base.dram_address = weights_ + static_cast<std::uint64_t>(channels.from);
    base.sram_address = sram;
    const std::int64_t run = channels.to == l_.out.c ? tap_stride : channels.size();
    for (const Dma& d : plan::transfers(
             base,
             {{taps_, static_cast<std::uint64_t>(stride_), static_cast<std::uint64_t>(tap_stride)}},
             run, e_.machine().dma_dims))
      e_.emit(Queue::dma_in, d);
    e_.load_constants(
        parameters_ + static_cast<std::uint64_t>(channels.from) * sizeof(ChannelParameters),
        channels.size() * static_cast<std::int64_t>(sizeof(ChannelParameters)), conv.parameters);
  }

  LayerEmitter& e_;
  const plan::Layer& l_;
  MacEpilogue epilogue_;
  std::uint64_t weights_ = 0, parameters_ = 0;
  std::int64_t taps_ = 1, stride_ = 1;
};

}  // namespace

void lower_depthwise(LayerEmitter& e) { Depthwise(e).run(); }

}  // namespace longshore::lower
