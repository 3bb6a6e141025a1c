// The mean over height and width: tiles of the input add into int32 sums, the last one finishes.
#include <algorithm>

#include "program/instructions/reduce.hpp"
#include "lower/layer.hpp"

namespace longshore::lower {

void lower_reduce(LayerEmitter& e) {
  const plan::Layer& l = e.layer();
  const plan::Tiling& t = l.tiling;
  const Codes in = codes_of(e.input_type()), out = codes_of(e.output_type(0));
  for (std::int64_t n = 0; n < l.in.n; n++)
    for (std::int64_t c = 0; c < l.in.c; c += t.channels) {
      const plan::Span channels = {c, std::min(l.in.c, c + t.channels)};
      const plan::TileShape to_shape = plan::tile_shape(e.machine(), 1, 1, channels.size());
      const std::uint32_t to = e.head_out();
      for (std::int64_t y = 0; y < l.in.h; y += t.rows)
        for (std::int64_t x = 0; x < l.in.w; x += t.columns) {
          const Box box{
              n, {y, std::min(l.in.h, y + t.rows)}, {x, std::min(l.in.w, x + t.columns)}, channels};
          const plan::TileShape shape =
              plan::tile_shape(e.machine(), box.h.size(), box.w.size(), channels.size());
          Reduce r;
          r.in = e.tile(e.input(box, shape), shape);
          r.height = static_cast<std::uint32_t>(box.h.size()),
          r.width = static_cast<std::uint32_t>(box.w.size());
          r.channels = static_cast<std::uint32_t>(channels.size());
          r.in_zero = in.zero, r.in_scale = in.scale;
          r.accumulate = y > 0 || x > 0;
          r.finish = box.h.to == l.in.h && box.w.to == l.in.w;
          r.accumulators = e.accumulators();
          r.out = to;
          r.divisor = static_cast<std::uint32_t>(l.in.h * l.in.w);
          r.out_scale = out.scale, r.out_zero = out.zero;
          r.lowest = out.lowest, r.highest = out.highest;
          r.rounding = e.rounding();
          e.emit(Queue::vector, r);
        }
      e.finish_tile({n, {0, 1}, {0, 1}, channels}, to, to_shape);
    }
}

}  // namespace longshore::lower
