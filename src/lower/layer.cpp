#include "lower/layer.hpp"

#include <algorithm>

#include "program/instructions/dma.hpp"
#include "base/error.hpp"
#include "plan/stages.hpp"
#include "tensor/quant.hpp"

namespace longshore::lower {

using plan::TileShape;
using plan::View;

std::uint32_t SlotTurns::take(const Key& key, bool& fresh) {
  time_++;
  for (std::size_t i = 0; i < held_.size(); i++) {
    if (held_[i] != key) continue;
    used_[i] = time_;
    fresh = false;
    return slots_->addresses[i];
  }
  const auto oldest = static_cast<std::size_t>(std::ranges::min_element(used_) - used_.begin());
  held_[oldest] = key;
  used_[oldest] = time_;
  fresh = true;
  return slots_->addresses[oldest];
}

std::uint32_t SlotTurns::next() {
  time_++;
  const auto oldest = static_cast<std::size_t>(std::ranges::min_element(used_) - used_.begin());
  held_[oldest].reset();
  used_[oldest] = time_;
  return slots_->addresses[oldest];
}

LayerEmitter::LayerEmitter(Emitter& emitter, const plan::Plan& plan, const plan::Layer& layer,
                           ConstantPool& pool, const std::vector<TapPlace>& taps,
                           std::uint32_t number)
    : emitter_(emitter),
      plan_(plan),
      l_(layer),
      pool_(pool),
      taps_(taps),
      layer_(number),
      in_turns_(layer.in_slots),
      weight_turns_(layer.weights) {
  for (const plan::Stage& s : layer.stages) {
    out_turns_.emplace_back(s.out);
    side_turns_.emplace_back(s.side_slots);
    parameter_turns_.emplace_back(s.parameters);
  }
}

std::pair<Dram, std::uint64_t> LayerEmitter::address(const View& v, std::int64_t n, std::int64_t h,
                                                     std::int64_t w, std::int64_t c) {
  const std::int64_t at[4] = {n, h, w, c};
  std::uint64_t out = v.offset;
  for (std::size_t i = 0; i < 4; i++) out += static_cast<std::uint64_t>(at[i]) * v.stride[i];
  if (v.constant != no_value)
    return {Dram::constants, out + pool_.add(*graph().constant(v.constant))};
  return {Dram::arena, out + plan_.arena.offsets[v.buffer]};
}

void LayerEmitter::emit(Queue queue, Operation operation) {
  emitter_.npu({queue, 0, layer_, std::move(operation)});
}

namespace {
std::vector<Dma> box_transfers(const View& v, const Box& box, std::pair<Dram, std::uint64_t> from,
                               std::uint32_t sram, const TileShape& shape, std::uint32_t dims) {
  Dma base;
  base.dram = from.first;
  base.dram_address = from.second;
  base.sram_address = sram;
  return plan::transfers(
      base,
      {{box.h.size(), v.stride[1], static_cast<std::uint64_t>(shape.row_stride())},
       {box.w.size(), v.stride[2], static_cast<std::uint64_t>(shape.pixel_stride)},
       {box.c.size(), v.stride[3], 1}},
      1, dims);
}
}  // namespace

void LayerEmitter::load(const View& v, const Box& box, std::uint32_t sram, const TileShape& shape) {
  for (const Dma& d : box_transfers(v, box, address(v, box.n, box.h.from, box.w.from, box.c.from),
                                    sram, shape, machine().dma_dims))
    emit(Queue::dma_in, d);
}

void LayerEmitter::load_constants(std::uint64_t offset, std::int64_t bytes, std::uint32_t sram) {
  Dma base;
  base.dram = Dram::constants;
  for (std::int64_t at = 0; at < bytes; at += max_extent) {
    base.dram_address = offset + static_cast<std::uint64_t>(at);
    base.sram_address = sram + static_cast<std::uint32_t>(at);
    base.run_bytes = static_cast<std::uint32_t>(std::min<std::int64_t>(bytes - at, max_extent));
    emit(Queue::dma_in, base);
  }
}

Tile LayerEmitter::tile(std::uint32_t sram, const TileShape& shape) const {
  return {sram, static_cast<std::uint32_t>(shape.row_stride()),
          static_cast<std::uint32_t>(shape.pixel_stride)};
}

std::uint32_t LayerEmitter::input(const Box& box, const TileShape& shape) {
  bool fresh = false;
  const std::uint32_t sram = in_turns_.take(
      {box.n, box.h.from, box.h.to, box.w.from, box.w.to, box.c.from, box.c.to}, fresh);
  if (fresh) load(l_.from, box, sram, shape);
  return sram;
}

Tile LayerEmitter::side(std::size_t stage, const Box& out, std::uint32_t& channel_stride) {
  const plan::Stage& s = l_.stages[stage];
  const Extent& e = s.side_extent;
  Box box = out;
  if (e.n == 1) box.n = 0;
  if (e.h == 1) box.h = {0, 1};
  if (e.w == 1) box.w = {0, 1};
  if (e.c == 1) box.c = {0, 1};
  const TileShape shape = plan::tile_shape(machine(), box.h.size(), box.w.size(), box.c.size());
  bool fresh = false;
  const std::uint32_t sram = side_turns_[stage].take(
      {box.n, box.h.from, box.h.to, box.w.from, box.w.to, box.c.from, box.c.to}, fresh);
  if (fresh) load(s.side_view, box, sram, shape);
  Tile t = tile(sram, shape);
  if (e.h == 1) t.row_stride = 0;
  if (e.w == 1) t.pixel_stride = 0;
  channel_stride = e.c == 1 ? 0 : 1;
  return t;
}

std::uint32_t LayerEmitter::table(std::size_t stage) {
  bool fresh = false;
  const std::uint32_t sram = parameter_turns_[stage].take({0, 0, 0, 0}, fresh);
  if (fresh) {
    const std::vector<std::int8_t> codes = table_of(graph(), graph().nodes[l_.stages[stage].node]);
    load_constants(pool_.add(std::as_bytes(std::span(codes))), 256, sram);
  }
  return sram;
}

const TensorType& LayerEmitter::input_type() const {
  return graph()[plan::head_input(graph(), l_)].type;
}
const TensorType& LayerEmitter::output_type(std::size_t stage) const {
  if (stage + 1 == l_.stages.size()) return graph()[plan::layer_output(graph(), l_)].type;
  return graph()[graph().nodes[l_.stages[stage].node].output()].type;
}

void LayerEmitter::tap(std::size_t stage, const Box& box, std::uint32_t sram,
                       const TileShape& shape) {
  if (taps_.empty()) return;
  ValueId v = stage + 1 == l_.stages.size() ? plan::layer_output(graph(), l_)
                                            : graph().nodes[l_.stages[stage].node].output();
  std::array<std::int64_t, 4> at = {box.n, box.h.from, box.w.from, box.c.from};
  if (stage + 1 == l_.stages.size() && plan::into_concat(graph(), l_)) {
    const std::array<std::int64_t, 4> start = plan::part_start(graph(), l_);
    for (std::size_t i = 0; i < 4; i++) at[i] += start[i];
  }
  // The value, then what it is a part of.
  while (v != no_value) {
    if (const TapPlace& place = taps_[index(v)]; place.present) {
      View view;
      view.stride = place.stride;
      std::uint64_t address = place.offset;
      for (std::size_t i = 0; i < 4; i++)
        address += static_cast<std::uint64_t>(at[i]) * place.stride[i];
      for (const Dma& d :
           box_transfers(view, box, {Dram::arena, address}, sram, shape, machine().dma_dims))
        emitter_.tap({Queue::dma_out, 0, layer_, d});
    }
    const plan::PartOf& part = plan_.parts[index(v)];
    for (std::size_t i = 0; i < 4; i++) at[i] += part.start[i];
    v = part.whole;
  }
}

void LayerEmitter::finish_tile(const Box& box, std::uint32_t sram, const TileShape& shape) {
  tap(0, box, sram, shape);
  for (std::size_t s = 1; s < l_.stages.size(); s++) {
    const std::uint32_t to = out_turns_[s].next();
    const Tile in = tile(sram, shape), out = tile(to, shape);
    switch (l_.stages[s].form) {
      case Form::table:
        emit(Queue::vector, table_operation(*this, s, in, out, shape));
        break;
      case Form::quantise:
        emit(Queue::vector, requantise_operation(*this, s, in, out, shape));
        break;
      case Form::eltwise: {
        std::uint32_t channel_stride = 1;
        const Tile other = side(s, box, channel_stride);
        emit(Queue::vector, eltwise_operation(*this, s, in, other, channel_stride, out, shape));
        break;
      }
      default:
        check(false, "a form that cannot be fused");
    }
    sram = to;
    tap(s, box, sram, shape);
  }
  const View& v = l_.to;
  for (const Dma& d : box_transfers(v, box, address(v, box.n, box.h.from, box.w.from, box.c.from),
                                    sram, shape, machine().dma_dims))
    emit(Queue::dma_out, d);
}

Codes codes_of(const TensorType& t) {
  const CodeRange range = code_range(t.dtype);
  return {t.quant.scale[0], t.quant.zero_point[0], range.lowest, range.highest};
}

}  // namespace longshore::lower
