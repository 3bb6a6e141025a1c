// Layers whose head works channel by channel on the vector unit, or only moves.
#include <algorithm>

#include "program/instructions/fill.hpp"
#include "base/error.hpp"
#include "lower/layer.hpp"
#include "tensor/quant.hpp"

namespace longshore::lower {
namespace {

using plan::Reach;
using plan::TileShape;

/// The code that a Pad writes: its constant may be a code, a quantised number or a float.
std::int32_t pad_code(const Graph& g, ValueId v, const Codes& codes) {
  const Tensor* given = g.constant(v);
  if (!given || given->elements() != 1) return codes.zero;
  const auto to_code = [&](float x) {
    return quantise(x, codes.scale, codes.zero, codes.lowest, codes.highest);
  };
  if (given->dtype == DType::f32) return to_code(given->values<float>()[0]);
  const std::int32_t code = load_code(given->view(), 0);
  const Quantisation& q = g[v].type.quant;
  return q.present() ? to_code(dequantise(code, q.scale[0], q.zero_point[0])) : code;
}

/// A part of Concat, Slice and the like, and Pad: what lies outside the input is filled.
void move_tile(LayerEmitter& e, const Box& box, const Reach& rows, const Reach& columns,
               const TileShape& out) {
  const plan::Layer& l = e.layer();
  const std::uint32_t to = e.head_out();
  if (e.head().op->name != "Pad") {
    e.load(l.from, box, to, out);
    return e.finish_tile(box, to, out);
  }
  const std::int64_t c0 = l.pad[3], n0 = l.pad[0];
  const plan::Span channels = {std::clamp<std::int64_t>(box.c.from - c0, 0, l.in.c),
                               std::clamp<std::int64_t>(box.c.to - c0, 0, l.in.c)};
  const bool inside = box.n >= n0 && box.n < n0 + l.in.n && rows.in.size() > 0 &&
                      columns.in.size() > 0 && channels.size() > 0;
  const bool whole = inside && rows.in.size() == out.rows && columns.in.size() == out.columns &&
                     channels.size() == out.channels;
  if (!whole) {
    const Codes codes = codes_of(e.output_type(0));
    const std::int32_t value = pad_code(e.graph(), e.head().input(2), codes);
    Fill fill;
    fill.address = to;
    fill.count[1] = static_cast<std::uint32_t>(out.rows),
    fill.count[2] = static_cast<std::uint32_t>(out.columns);
    fill.stride[1] = static_cast<std::uint32_t>(out.row_stride()),
    fill.stride[2] = static_cast<std::uint32_t>(out.pixel_stride);
    fill.run_bytes = static_cast<std::uint32_t>(out.channels);
    fill.value = static_cast<std::int8_t>(value);
    e.emit(Queue::dma_in, fill);
  }
  if (inside) {
    const std::int64_t c_before = std::max<std::int64_t>(0, c0 - box.c.from);
    const std::int64_t at =
        rows.before * out.row_stride() + columns.before * out.pixel_stride + c_before;
    e.load(l.from, {box.n - n0, rows.in, columns.in, channels}, to + static_cast<std::uint32_t>(at),
           out);
  }
  e.finish_tile(box, to, out);
}

void vector_tile(LayerEmitter& e, const Box& box, const Reach& rows, const Reach& columns,
                 const TileShape& out) {
  const TileShape shape =
      plan::tile_shape(e.machine(), rows.in.size(), columns.in.size(), box.c.size());
  const Tile in = e.tile(e.input({box.n, rows.in, columns.in, box.c}, shape), shape);
  Operation operation;
  const Form form = e.layer().stages.front().form;
  std::uint32_t channel_stride = 1;
  const Tile side = form == Form::eltwise ? e.side(0, box, channel_stride) : Tile{};
  const std::uint32_t to = e.head_out();
  const Tile result = e.tile(to, out);
  switch (form) {
    case Form::table:
      operation = table_operation(e, 0, in, result, out);
      break;
    case Form::quantise:
      operation = requantise_operation(e, 0, in, result, out);
      break;
    case Form::eltwise:
      operation = eltwise_operation(e, 0, in, side, channel_stride, result, out);
      break;
    case Form::pool:
      operation = pool_operation(e, in, shape, result, out, rows, columns);
      break;
    case Form::resize:
      operation = resize_operation(e, in, shape, result, out, box, rows, columns);
      break;
    default:
      check(false, "a form without a tile operation");
  }
  e.emit(Queue::vector, std::move(operation));
  e.finish_tile(box, to, out);
}

}  // namespace

void lower_tiles(LayerEmitter& e) {
  const plan::Layer& l = e.layer();
  const plan::Tiling& t = l.tiling;
  for (std::int64_t n = 0; n < l.out.n; n++)
    for (std::int64_t c = 0; c < l.out.c; c += t.channels)
      for (std::int64_t y = 0; y < l.out.h; y += t.rows)
        for (std::int64_t x = 0; x < l.out.w; x += t.columns) {
          const Box box{n,
                        {y, std::min(l.out.h, y + t.rows)},
                        {x, std::min(l.out.w, x + t.columns)},
                        {c, std::min(l.out.c, c + t.channels)}};
          const Reach rows = plan::input_reach(l, box.h, false),
                      columns = plan::input_reach(l, box.w, true);
          const TileShape out =
              plan::tile_shape(e.machine(), box.h.size(), box.w.size(), box.c.size());
          if (l.stages.front().form == Form::move)
            move_tile(e, box, rows, columns, out);
          else
            vector_tile(e, box, rows, columns, out);
        }
}

}  // namespace longshore::lower
