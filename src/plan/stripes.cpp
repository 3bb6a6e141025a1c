#include "plan/stripes.hpp"

#include <numeric>

#include "plan/slot_turns.hpp"

namespace longshore::plan {
namespace {

using forms::Operand;
using forms::round_up;
using forms::sram_alignment;
using forms::tile_shape;

/// A tensor that stays in SRAM.
struct Kept {
  std::int64_t row = 0, pixel = 0, element = 1;  // strides and element in bytes
  std::vector<Span> rows;                        // by stripe
  std::vector<std::uint32_t> addresses;
};

class Striper {
 public:
  Striper(const Plan& plan, std::span<const Layer> layers, const Links& links)
      : plan_(plan), m_(plan.placement.target.machine), layers_(layers), links_(links) {}

  /// The first channels that fit, halved where the most weights are; nothing if none do.
  std::optional<Stripes> fitted(StripeCut cut) {
    cut.channels.clear();
    for (const Layer& l : layers_) cut.channels.push_back(l.stages.front().out.c);
    for (;;) {
      std::optional<Stripes> built = build(cut);
      if (!built || built->bytes <= plan_.sram_bytes) return built;
      std::size_t widest = layers_.size();
      std::uint64_t most = 0;
      for (std::size_t k = 0; k < layers_.size(); k++) {
        const std::uint64_t bytes = weight_bytes(built->layers[k]);
        if (bytes > most && cut.channels[k] > grain(k)) most = bytes, widest = k;
      }
      if (widest == layers_.size()) return {};
      cut.channels[widest] =
          std::max(grain(widest), round_up(cut.channels[widest] / 2, grain(widest)));
    }
  }

 private:
  const Stage& head(std::size_t k) const { return layers_[k].stages.front(); }
  /// Blocks of channels begin at aligned addresses of the tensor that they are a part of.
  std::int64_t grain(std::size_t k) const {
    const forms::TileRules r = rules(k);
    const std::int64_t least = std::lcm(r.channel_grain, sram_alignment(m_));
    return r.whole_channels ? head(k).out.c : std::min(head(k).out.c, least);
  }
  forms::TileRules rules(std::size_t k) const {
    return head(k).form->rules(form_node(plan_, head(k)), m_);
  }
  static std::uint64_t weight_bytes(const Layer& l) {
    std::uint64_t sum = 0;
    for (const StageOperand& o : l.stages.front().operands)
      if (o.what.source == Operand::Source::packed)
        sum += std::uint64_t{o.slots.bytes} * o.slots.addresses.size();
    return sum;
  }

  /// Of the operands of a layer those that share tensor `t`: calls f(stage, operand, share).
  template <class F>
  void each_use(std::size_t k, std::size_t t, F&& f) const {
    std::size_t at = 0;
    for (const Stage& s : layers_[k].stages)
      for (std::size_t o = 0; o < s.operands.size(); o++, at++)
        if (const auto& use = links_.operands[k][at]; use && use->tensor == t) f(s, o, *use);
  }

  /// Rows of some channels of tensor `t` that layer `k` reads for its own; nothing if none.
  std::optional<Span> rows_read(std::size_t k, std::size_t t, Span own, Span channels) const {
    std::optional<Span> rows;
    each_use(k, t, [&](const Stage& s, std::size_t o, const Share& use) {
      if (use.channel >= channels.to || use.channel + s.operands[o].extent.c <= channels.from)
        return;
      const TileBox box = tile(k, {0, own, {0, s.out.w}, {0, s.out.c}});
      rows = hull(rows, s.form->reach(form_node(plan_, s), o, box).h);
    });
    return rows;
  }
  static Span hull(const std::optional<Span>& a, Span b) {
    return a ? Span{std::min(a->from, b.from), std::max(a->to, b.to)} : b;
  }

  /// Fills `stripes_`: rows of layers that none here reads in equal parts, and of each before them
  /// the rows that these need. Rows that nobody needs are computed all the same, as without a
  /// cascade.
  bool find_stripes(std::int64_t count) {
    stripes_.assign(static_cast<std::size_t>(count), std::vector<Span>(layers_.size()));
    for (std::size_t k = layers_.size(); k-- > 0;) {
      const std::int64_t height = head(k).out.h;
      std::int64_t made = 0;
      for (std::int64_t s = 0; s < count; s++) {
        std::vector<Span>& spans = stripes_[static_cast<std::size_t>(s)];
        std::optional<Span> rows;
        if (const auto& made_for = links_.results[k])
          for (std::size_t r = k + 1; r < layers_.size(); r++)
            if (const auto read = rows_read(r, made_for->tensor, spans[r],
                                            {made_for->channel, made_for->channel + head(k).out.c}))
              rows = hull(rows, *read);
        if (!rows) rows = Span{height * s / count, height * (s + 1) / count};
        if (rows->size() <= 0) return false;
        rows->from = std::min(rows->from, made);
        made = rows->to = std::max(rows->to, made);
        spans[k] = *rows;
      }
      stripes_.back()[k].to = height;
    }
    return true;
  }
  TileBox tile(std::size_t k, const Box& box) const {
    TileBox t{box, {}};
    if (rules(k).sums_channels) t.over.c = {0, head(k).in.c};
    return t;
  }

  /// A tile in its turn.
  struct Turn {
    std::size_t layer;
    std::size_t stripe;
    TileBox box;
  };

  bool cut_up(const StripeCut& cut) {
    turns_.clear();
    if (!find_stripes(cut.stripes)) return false;
    for (std::size_t s = 0; s < stripes_.size(); s++) {
      const std::vector<Span>& spans = stripes_[s];
      for (std::size_t k = 0; k < layers_.size(); k++) {
        // Those at the ends of the chain load or store.
        const bool end = k == 0 || links_.stored[k];
        const Stage& h = head(k);
        const std::int64_t channels = cut.channels[k];
        std::int64_t step = forms::divide_up(spans[k].size(), end ? cut.pieces : 1);
        if (m_.accumulators > 0 && h.form->queue == Queue::mac)
          step = std::min(step, m_.accumulators / (h.out.w * channels));
        if (step < 1) return false;
        for (std::int64_t c = 0; c < h.out.c; c += channels)
          for (std::int64_t y = spans[k].from; y < spans[k].to; y += step)
            turns_.push_back({k, s,
                              tile(k, {0,
                                       {y, std::min(spans[k].to, y + step)},
                                       {0, h.out.w},
                                       {c, std::min(h.out.c, c + channels)}})});
      }
    }
    return true;
  }

  /// `bytes` in as many slots as take turns: two, or one where all hold the same.
  void size(Slots& s, std::int64_t bytes, bool several) const {
    s.bytes = static_cast<std::uint32_t>(round_up(bytes, sram_alignment(m_)));
    s.addresses.assign(several ? 2 : 1, 0);
  }

  void size_layer(Layer& l, std::size_t k, const StripeCut& cut) const {
    Tiling& t = l.tiling;
    t = {1, head(k).out.w, cut.channels[k], head(k).in.c, true};
    std::size_t tiles = 0;
    for (const Turn& turn : turns_)
      if (turn.layer == k) t.rows = std::max(t.rows, turn.box.out.h.size()), tiles++;
    if (!rules(k).sums_channels) t.in_channels = t.channels;
    l.accumulators = {};
    std::size_t at = 0;
    for (std::size_t i = 0; i < l.stages.size(); i++) {
      Stage& s = l.stages[i];
      const FormNode n = form_node(plan_, s);
      for (std::size_t o = 0; o < s.operands.size(); o++, at++) {
        StageOperand& operand = s.operands[o];
        operand.slots = {};
        if (operand.chained || operand.what.source == Operand::Source::inside) continue;
        if (links_.operands[k][at]) continue;
        std::optional<Box> first;
        bool several = false;
        std::int64_t most = 0;
        for (const Turn& turn : turns_) {
          if (turn.layer != k) continue;
          const Box box = s.form->reach(n, o, turn.box);
          if (!first) first = box;
          several |= box != *first;
          if (operand.what.source == Operand::Source::value)
            most = std::max(
                most, tile_shape(m_, box, n.element_bytes(n.input(operand.what.input))).bytes());
        }
        if (operand.what.source != Operand::Source::value) most = s.form->slot_bytes(n, o, t, m_);
        size(operand.slots, most, several);
      }
      s.result = {};
      if (i + 1 == l.stages.size() && links_.results[k]) continue;
      std::int64_t most = 0;
      for (const Turn& turn : turns_)
        if (turn.layer == k)
          most = std::max(most, tile_shape(m_, turn.box.out, n.element_bytes(n.result())).bytes());
      size(s.result, most, tiles > 1);
    }
  }

  std::optional<Stripes> build(const StripeCut& cut) {
    if (!cut_up(cut)) return {};
    Stripes out;
    out.layers.assign(layers_.begin(), layers_.end());
    std::uint64_t at = 0;
    for (std::size_t k = 0; k < layers_.size(); k++) {
      size_layer(out.layers[k], k, cut);
      assign_slots(out.layers[k], m_, std::numeric_limits<std::uint32_t>::max(), false);
      move_slots(out.layers[k], at);
      at += slot_bytes(out.layers[k]);
    }
    // Those that no layer needs at the same time share their bytes.
    std::vector<Kept> kept;
    std::vector<Buffer> buffers;
    for (std::size_t t = 0; t < links_.tensors.size(); t++) {
      const SharedTensor& shared = links_.tensors[t];
      kept.push_back(keep(t));
      std::int64_t rows = 0;
      for (const Span& r : kept.back().rows) rows = std::max(rows, r.size());
      buffers.push_back({static_cast<std::uint64_t>(rows * kept.back().row),
                         static_cast<std::uint32_t>(shared.first),
                         static_cast<std::uint32_t>(shared.last)});
    }
    const auto alignment = static_cast<std::uint64_t>(sram_alignment(m_));
    const Arena arena = plan_arena(buffers, alignment);
    const std::size_t most_turns = (stripes_.size() + cut.cores - 1) / cut.cores;
    for (std::size_t i = 0; i < std::min(cut.turns, most_turns); i++) {
      for (std::size_t t = 0; t < kept.size(); t++)
        kept[t].addresses.push_back(static_cast<std::uint32_t>(at + arena.offsets[t]));
      at += (arena.bytes + alignment - 1) / alignment * alignment;
    }
    // What is loaded comes while the stripe before is at work.
    for (std::size_t t = 0; t < kept.size(); t++)
      if (cut.turns == 1 && most_turns > 1 && is_loaded(t)) {
        kept[t].addresses.push_back(static_cast<std::uint32_t>(at));
        at += (buffers[t].bytes + alignment - 1) / alignment * alignment;
      }
    out.bytes = at;
    if (at <= plan_.sram_bytes) tasks(out, kept, cut);
    return out;
  }

  bool is_loaded(std::size_t t) const {
    return std::ranges::any_of(links_.loads, [&](const SharedLoad& l) {
      return links_.operands[l.layer][l.operand]->tensor == t;
    });
  }

  Kept keep(std::size_t t) const {
    const SharedTensor& shared = links_.tensors[t];
    Kept out;
    std::int64_t columns = 0;
    for (const std::vector<Span>& spans : stripes_) {
      std::optional<Span> rows;
      for (std::size_t k = shared.first; k <= shared.last; k++) {
        if (links_.results[k] && links_.results[k]->tensor == t) {
          rows = hull(rows, spans[k]);
          const FormNode n = form_node(plan_, layers_[k].stages.back());
          columns = n.out.w, out.element = n.element_bytes(n.result());
        }
        if (const auto read = rows_read(k, t, spans[k], {0, shared.channels.size()}))
          rows = hull(rows, *read);
        each_use(k, t, [&](const Stage& s, std::size_t o, const Share&) {
          const FormNode n = form_node(plan_, s);
          columns = s.operands[o].extent.w;
          out.element = n.element_bytes(n.input(s.operands[o].what.input));
        });
      }
      out.rows.push_back(*rows);
    }
    const forms::TileShape shape = tile_shape(m_, 1, columns, shared.channels.size(), out.element);
    out.pixel = shape.pixel_stride, out.row = shape.row_stride();
    return out;
  }

  void tasks(Stripes& out, const std::vector<Kept>& kept, const StripeCut& cut) const {
    struct Held {  // by a core's slots, by layer
      std::vector<std::vector<SlotTurns>> operands, results;
    };
    std::vector<Held> cores(cut.cores);
    for (Held& h : cores) {
      h.operands.resize(layers_.size()), h.results.resize(layers_.size());
      for (std::size_t k = 0; k < layers_.size(); k++)
        for (const Stage& s : out.layers[k].stages) {
          h.results[k].emplace_back(s.result);
          for (const StageOperand& o : s.operands) h.operands[k].emplace_back(o.slots);
        }
    }
    const Turn* before = nullptr;
    for (const Turn& turn : turns_) {
      const Layer& l = out.layers[turn.layer];
      TileTask task;
      task.core = static_cast<std::uint8_t>(turn.stripe % cut.cores);
      Held& held = cores[task.core];
      const std::size_t round = turn.stripe / cut.cores;  // of this core's stripes
      task.layer = static_cast<std::uint32_t>(turn.layer);
      task.box = turn.box;
      if (!before || before->layer != turn.layer || before->stripe != turn.stripe)
        load_shared(task, turn, kept, round);
      before = &turn;
      std::size_t at = 0;
      for (std::size_t i = 0; i < l.stages.size(); i++) {
        const Stage& s = l.stages[i];
        const FormNode n = form_node(plan_, s);
        if (const auto& share = links_.results[turn.layer]; share && i + 1 == l.stages.size()) {
          const TileTask::Place place = inside(kept, *share, turn.stripe, round, turn.box.out);
          task.results.push_back(place.address);
          task.result_strides = place.strides;
        } else {
          task.results.push_back(held.results[turn.layer][i].next());
        }
        for (std::size_t o = 0; o < s.operands.size(); o++, at++) {
          const Box box = s.operands[o].chained ? Box{} : s.form->reach(n, o, turn.box);
          if (s.operands[o].chained)
            task.operands.push_back({task.results[i - 1], true});
          else if (const auto& share = links_.operands[turn.layer][at])
            task.operands.push_back(inside(kept, *share, turn.stripe, round, box));
          else if (s.operands[o].what.source == Operand::Source::inside)
            task.operands.push_back({task.results.back(), false});
          else
            task.operands.push_back(held.operands[turn.layer][at].take(box));
        }
      }
      task.stored = links_.stored[turn.layer];
      if (turn.stripe > 0) task.stored_from = stripes_[turn.stripe - 1][turn.layer].to;
      out.tasks.push_back(std::move(task));
    }
  }

  /// Before the first tile of a layer in a stripe: what no layer here makes, for all that read it.
  void load_shared(TileTask& task, const Turn& turn, const std::vector<Kept>& kept,
                   std::size_t round) const {
    for (const SharedLoad& load : links_.loads) {
      if (load.layer != turn.layer) continue;
      const Share& share = *links_.operands[load.layer][load.operand];
      std::size_t at = load.operand;
      std::size_t stage = 0;
      while (at >= layers_[turn.layer].stages[stage].operands.size())
        at -= layers_[turn.layer].stages[stage++].operands.size();
      const Extent& e = layers_[turn.layer].stages[stage].operands[at].extent;
      const Box box{0, kept[share.tensor].rows[turn.stripe], {0, e.w}, load.channels};
      task.loads.push_back({load.operand, box, inside(kept, share, turn.stripe, round, box)});
    }
  }

  /// Where a box of a layer's operand or result lies.
  static TileTask::Place inside(const std::vector<Kept>& kept, const Share& share,
                                std::size_t stripe, std::size_t round, const Box& box) {
    const Kept& t = kept[share.tensor];
    const auto u32 = [](std::int64_t v) { return static_cast<std::uint32_t>(v); };
    return {t.addresses[round % t.addresses.size()] +
                u32((box.h.from - t.rows[stripe].from) * t.row + box.w.from * t.pixel +
                    (share.channel + box.c.from) * t.element),
            true,
            {u32(t.row), u32(t.pixel)}};
  }

  static void move_slots(Layer& l, std::uint64_t by) {
    for (Stage& s : l.stages) {
      for (StageOperand& o : s.operands)
        for (std::uint32_t& a : o.slots.addresses) a += static_cast<std::uint32_t>(by);
      for (std::uint32_t& a : s.result.addresses) a += static_cast<std::uint32_t>(by);
    }
  }

  const Plan& plan_;
  const Machine& m_;
  std::span<const Layer> layers_;
  const Links& links_;
  std::vector<std::vector<Span>> stripes_;  // rows of each layer
  std::vector<Turn> turns_;
};

}  // namespace

std::optional<Stripes> fit_stripes(const Plan& plan, std::span<const Layer> layers,
                                   const Links& links, StripeCut cut) {
  return Striper(plan, layers, links).fitted(std::move(cut));
}

}  // namespace longshore::plan
