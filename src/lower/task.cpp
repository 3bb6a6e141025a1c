#include "lower/task.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "lower/taps.hpp"

namespace longshore::lower {
namespace {

using forms::Operand;
using forms::TileShape;
using plan::Box;
using plan::View;

std::uint64_t u64(std::int64_t v) { return static_cast<std::uint64_t>(v); }

std::vector<Dma> box_transfers(const View& v, const Box& box, std::pair<Dram, std::uint64_t> from,
                               std::uint32_t sram, const Tile& tile, std::int64_t element_bytes,
                               std::uint32_t dims) {
  Dma base;
  base.dram = from.first;
  base.dram_address = from.second;
  base.sram_address = sram;
  return forms::transfers(base,
                          {{box.h.size(), v.stride[1], tile.row_stride},
                           {box.w.size(), v.stride[2], tile.pixel_stride},
                           {box.c.size(), v.stride[3], u64(element_bytes)}},
                          element_bytes, dims);
}

using Strides = plan::TileTask::Strides;

Tile tile_at(std::uint32_t sram, const TileShape& shape, DType dtype, const Strides& within) {
  if (within.pixel > 0) return {sram, within.row, within.pixel, dtype};
  return {sram, static_cast<std::uint32_t>(shape.row_stride()),
          static_cast<std::uint32_t>(shape.pixel_stride), dtype};
}

}  // namespace

/// One stage of one task.
class TaskEmitter::Stage final : public forms::TileEmitter {
 public:
  Stage(TaskEmitter& to, const plan::Layer& layer, std::size_t stage, const plan::TileTask& task,
        std::size_t first_operand)
      : to_(to),
        l_(layer),
        s_(layer.stages[stage]),
        node_(plan::form_node(to.plan_, s_)),
        number_(stage),
        task_(task),
        first_(first_operand) {
    for (std::size_t i = 0; i < s_.operands.size(); i++)
      boxes_.push_back(s_.operands[i].chained ? task.box.out : s_.form->reach(node_, i, task.box));
  }

  const Machine& machine() const override { return to_.machine_; }
  Tile operand(std::size_t i) const override {
    const ValueId v = node_.input(s_.operands[i].what.input);
    return tile_at(place(i).address, shape(i), v == no_value ? DType::i8 : node_.type(v).dtype,
                   place(i).strides);
  }
  const Box& operand_box(std::size_t i) const override { return boxes_[i]; }
  const plan::Extent& operand_extent(std::size_t i) const override {
    return s_.operands[i].chained ? s_.in : s_.operands[i].extent;
  }
  Tile result() const override {
    const ValueId v = node_.result();
    return tile_at(
        task_.results[number_], forms::tile_shape(machine(), task_.box.out, node_.element_bytes(v)),
        node_.type(v).dtype, number_ + 1 == l_.stages.size() ? task_.result_strides : Strides{});
  }
  std::uint32_t accumulators() const override { return task_.accumulators; }
  void emit(Queue queue, Operation operation) override {
    to_.emitter_.npu({queue, task_.core, layer(), std::move(operation)});
  }
  void load(std::size_t i, const Box& box, std::uint32_t address) override {
    load_box(i, box, address, result());
  }

  void run() {
    for (const plan::TileTask::Load& l : task_.loads)
      if (l.operand >= first_ && l.operand < first_ + s_.operands.size())
        load_box(l.operand - first_, l.box, l.to.address,
                 {l.to.address, l.to.strides.row, l.to.strides.pixel, DType::i8});
    for (std::size_t i = 0; i < s_.operands.size(); i++) fill(i);
    s_.form->emit(node_, task_, *this);
  }

 private:
  const plan::TileTask::Place& place(std::size_t i) const { return task_.operands[first_ + i]; }
  std::uint32_t layer() const { return static_cast<std::uint32_t>(l_.head()); }
  std::int64_t element_bytes(std::size_t i) const {
    const ValueId v = node_.input(s_.operands[i].what.input);
    return v == no_value ? 1 : node_.element_bytes(v);
  }
  TileShape shape(std::size_t i) const {
    return forms::tile_shape(machine(), boxes_[i], element_bytes(i));
  }

  void load_box(std::size_t i, const Box& box, std::uint32_t sram, const Tile& tile) {
    const View& v = s_.operands[i].view;
    for (const Dma& d :
         box_transfers(v, box, to_.address(v, box.n, box.h.from, box.w.from, box.c.from), sram,
                       tile, element_bytes(i), machine().dma_dims))
      emit(Queue::dma_in, d);
  }

  /// Bytes [from, from + bytes) of the constants.
  void load_constants(std::uint64_t from, std::uint32_t sram,
                      const std::vector<forms::TransferLoop>& loops, std::int64_t run) {
    Dma base;
    base.dram = Dram::constants;
    for (std::int64_t at = 0; at < run; at += max_extent) {
      base.dram_address = from + u64(at);
      base.sram_address = sram + static_cast<std::uint32_t>(at);
      for (const Dma& d : forms::transfers(
               base, loops, std::min<std::int64_t>(run - at, max_extent), machine().dma_dims))
        emit(Queue::dma_in, d);
    }
  }

  void fill(std::size_t i) {
    const plan::StageOperand& o = s_.operands[i];
    if (o.chained || place(i).filled) return;
    const std::uint32_t sram = place(i).address;
    switch (o.what.source) {
      case Operand::Source::value:
        return load_box(i, boxes_[i], sram, operand(i));
      case Operand::Source::inside:
        return;  // the form does
      case Operand::Source::packed: {
        const std::uint64_t at = to_.packed(l_, number_, i);
        for (const forms::Fetch& f : s_.form->fetch(node_, i, task_.box, machine()))
          load_constants(at + f.from, sram + f.to, f.loops, f.run);
        return;
      }
      case Operand::Source::made: {
        const std::vector<std::byte> bytes = s_.form->make(node_, i, task_.box);
        if (!bytes.empty())
          load_constants(to_.pool_.add(bytes), sram, {}, static_cast<std::int64_t>(bytes.size()));
        return;
      }
    }
  }

  TaskEmitter& to_;
  const plan::Layer& l_;
  const plan::Stage& s_;
  const plan::FormNode node_;
  const std::size_t number_;
  const plan::TileTask& task_;
  const std::size_t first_;
  std::vector<Box> boxes_;
};

TaskEmitter::TaskEmitter(Emitter& emitter, const plan::Plan& plan, ConstantPool& pool,
                         const std::vector<TapPlace>& taps, bool pack)
    : emitter_(emitter),
      plan_(plan),
      machine_(plan.placement.target.machine),
      pool_(pool),
      taps_(taps),
      pack_(pack) {
  if (taps.empty()) return;
  shown_by_.resize(plan.aliases.size());
  for (std::size_t v = 0; v < plan.aliases.size(); v++)
    if (const plan::Alias& a = plan.aliases[v]; a.parent != no_value && !a.part)
      shown_by_[index(a.parent)].push_back(ValueId(v));
}

std::uint64_t TaskEmitter::packed(const plan::Layer& l, std::size_t stage, std::size_t operand) {
  if (!pack_) return 0;
  const plan::Stage& s = l.stages[stage];
  const auto [it, fresh] = packed_.try_emplace({s.node, static_cast<std::size_t>(s.spec.result),
                                                static_cast<std::size_t>(s.spec.data), operand});
  if (fresh) it->second = pool_.add(s.form->pack(plan::form_node(plan_, s), operand, machine_));
  return it->second;
}

std::pair<Dram, std::uint64_t> TaskEmitter::address(const View& v, std::int64_t n, std::int64_t h,
                                                    std::int64_t w, std::int64_t c) {
  const std::int64_t at[4] = {n, h, w, c};
  std::uint64_t out = v.offset;
  for (std::size_t i = 0; i < 4; i++) out += u64(at[i]) * v.stride[i];
  if (v.constant != no_value)
    return {Dram::constants, out + pool_.add(*plan_.placement.graph.constant(v.constant))};
  return {Dram::arena, out + plan_.arena.offsets[v.buffer]};
}

void TaskEmitter::emit(const plan::TileTask& task) { emit(plan_.layers[task.layer], task); }

void TaskEmitter::emit(const plan::Layer& l, const plan::TileTask& task) {
  emitter_.begin_task(static_cast<std::uint32_t>(l.head()), task.core);
  std::size_t operand = 0;
  const Box& box = task.box.out;
  Tile last;
  for (std::size_t s = 0; s < task.results.size(); s++) {
    Stage stage(*this, l, s, task, operand);
    stage.run();
    operand += l.stages[s].operands.size();
    last = stage.result();
    if (taps_.empty() || !task.box.ends) continue;
    const plan::FormNode n = plan::form_node(plan_, l.stages[s]);
    const bool to_part = s + 1 == l.stages.size();
    TapBox tapped = tap_box(box, last, to_part ? l.part : std::array<std::int64_t, 4>{});
    each_tap(plan_, shown_by_, n.result(), tapped, [&](ValueId v, const TapBox& t) {
      if (!taps_[index(v)].present) return;
      for (const Dma& d :
           tap_transfers(t, taps_[index(v)].offset, taps_[index(v)].stride, machine_.dma_dims))
        emitter_.tap({Queue::dma_out, task.core, static_cast<std::uint32_t>(l.head()), d});
    });
  }
  Box kept = box;
  kept.h.from = std::max(box.h.from, task.stored_from);
  if (!task.box.ends || !task.stored || kept.h.size() <= 0) return;
  const auto to = address(l.to, kept.n, kept.h.from, kept.w.from, kept.c.from);
  const std::uint32_t from =
      last.address + static_cast<std::uint32_t>(kept.h.from - box.h.from) * last.row_stride;
  const std::int64_t bytes =
      plan::form_node(plan_, l.stages.back()).element_bytes(plan::layer_result(plan_, l));
  for (const Dma& d : box_transfers(l.to, kept, to, from, last, bytes, machine_.dma_dims))
    emitter_.npu({Queue::dma_out, task.core, static_cast<std::uint32_t>(l.head()), d});
}

}  // namespace longshore::lower
