#include "program/instructions/resize.hpp"
#include "lower/layer.hpp"

namespace longshore::lower {
namespace {

/// Whether outputs from..to read (output + phase) / factor, counted from `start`.
bool regular(const std::vector<std::int64_t>& map, plan::Span out, std::int64_t start,
             std::int64_t factor, std::int64_t& phase) {
  for (phase = 0; phase < factor; phase++) {
    bool fits = true;
    for (std::int64_t i = out.from; i < out.to && fits; i++)
      fits = map[static_cast<std::size_t>(i)] - start == (i - out.from + phase) / factor;
    if (fits) return true;
  }
  return false;
}

}  // namespace

Operation resize_operation(LayerEmitter& e, Tile in, const plan::TileShape& in_shape, Tile out,
                           const plan::TileShape& shape, const Box& box, const plan::Reach& rows,
                           const plan::Reach& columns) {
  const plan::ResizeMap& map = e.layer().resize;
  Resize o;
  o.in = in, o.out = out;
  o.in_h = static_cast<std::uint32_t>(in_shape.rows),
  o.in_w = static_cast<std::uint32_t>(in_shape.columns);
  o.channels = static_cast<std::uint32_t>(in_shape.channels);
  o.out_h = static_cast<std::uint32_t>(shape.rows),
  o.out_w = static_cast<std::uint32_t>(shape.columns);
  std::vector<std::uint16_t> indices;
  const auto axis = [&](const std::vector<std::int64_t>& sources, plan::Span span,
                        std::int64_t from, std::int64_t size_in, std::int64_t size_out,
                        std::uint32_t& factor, std::uint32_t& phase, std::uint32_t& at) {
    std::int64_t start = 0;
    const std::int64_t guess = size_in > 0 && size_out % size_in == 0 ? size_out / size_in : 0;
    if (guess > 0 && regular(sources, span, from, guess, start)) {
      factor = static_cast<std::uint32_t>(guess);
      phase = static_cast<std::uint32_t>(start);
      return;
    }
    factor = 0;
    at = static_cast<std::uint32_t>(indices.size() * 2);
    for (std::int64_t i = span.from; i < span.to; i++)
      indices.push_back(static_cast<std::uint16_t>(sources[static_cast<std::size_t>(i)] - from));
  };
  const Extent &from = e.layer().in, &to = e.layer().out;
  axis(map.rows, box.h, rows.in.from, from.h, to.h, o.factor_h, o.phase_h, o.rows);
  axis(map.columns, box.w, columns.in.from, from.w, to.w, o.factor_w, o.phase_w, o.columns);
  if (indices.empty()) return o;
  bool fresh = false;
  const std::uint32_t sram = e.parameter_turns(0).take({box.h.from, box.w.from, 0, 0}, fresh);
  if (fresh)
    e.load_constants(e.pool().add(std::as_bytes(std::span(indices))),
                     static_cast<std::int64_t>(indices.size() * 2), sram);
  if (o.factor_h == 0) o.rows += sram;
  if (o.factor_w == 0) o.columns += sram;
  return o;
}

}  // namespace longshore::lower
