// The search for tile sizes: every candidate is priced with the closed forms that the simulator
// uses, engines side by side, and the cheapest that fits is taken.
#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

#include "forms/support/tile_dma.hpp"
#include "plan/stages.hpp"

namespace longshore::plan {
namespace {

using forms::divide_up;
using forms::Operand;
using forms::round_up;
using forms::sram_alignment;
using forms::tile_shape;

/// A tile size and how often it occurs along an axis: whole tiles, then the rest.
struct Pieces {
  Pieces(std::int64_t total, std::int64_t size) : count(divide_up(total, size)) {
    if (total / size > 0) parts[used++] = {size, total / size};
    if (total % size > 0) parts[used++] = {total % size, 1};
  }
  struct Part {
    std::int64_t size = 0, times = 0;
  };
  Part parts[2];
  int used = 0;
  std::int64_t count;
  const Part* begin() const { return parts; }
  const Part* end() const { return parts + used; }
};

std::vector<std::int64_t> halves(std::int64_t total, std::int64_t grain, std::int64_t fewest = 1) {
  std::vector<std::int64_t> out;
  for (std::int64_t k = 1; k <= total; k = k < 16 ? k + 1 : k * 5 / 4) {
    const std::int64_t size = std::min(total, round_up(divide_up(total, k), grain));
    if (size < fewest) break;
    if (out.empty() || out.back() != size) out.push_back(size);
  }
  if (grain > 1 && out.back() > grain && grain >= fewest) out.push_back(grain);
  return out;
}

std::uint32_t u32(std::int64_t v) { return static_cast<std::uint32_t>(v); }

class Search {
 public:
  /// Tilings whose tiles can be shared out to so many cores.
  Search(const Plan& plan, const Layer& layer, std::uint32_t sram_bytes, Split split = Split::none,
         std::int64_t cores = 1)
      : plan_(plan),
        layer_(layer),
        split_(split),
        cores_(cores),
        m_(plan.placement.target.machine),
        sram_(sram_bytes),
        head_(layer.stages.front()),
        node_(form_node(plan, head_)),
        form_(*head_.form),
        rules_(form_.rules(node_, m_)) {
    groups_ = rules_.sums_channels ? head_.spec.groups : 1;
    group_in_ = head_.in.c / groups_;
    group_out_ = head_.out.c / groups_;
    walk_h_ = rules_.sums_pixels ? head_.in.h : head_.out.h;
    walk_w_ = rules_.sums_pixels ? head_.in.w : head_.out.w;
    setup_ns_ = m_.cycles_to_ns(m_.dma_setup_cycles + m_.dispatch_cycles) +
                (m_.dma_depth < 2 ? m_.dram_latency_ns : 0);
  }

  /// The cheapest tilings that fit, by estimate, the best first.
  std::vector<Layer> run() {
    for (const bool split_columns : {false, true}) {
      if (split_columns && !best_.empty()) break;
      search(split_columns, false);
    }
    if (best_.empty()) search(true, true);
    std::vector<Layer> out;
    for (auto& [score, layer] : best_) out.push_back(std::move(layer));
    if (!rules_.sums_channels || group_in_ < 2 * rules_.input_grain || out.empty() ||
        out.front().tiling.in_channels < group_in_)
      return out;
    // Sums that stay in SRAM between turns cost time, but smaller tiles can load ahead.
    best_.clear();
    search(false, true);
    for (auto& [score, layer] : best_)
      if (layer.tiling.in_channels < group_in_) out.push_back(std::move(layer));
    return out;
  }

 private:
  static constexpr std::size_t most_kept = 6;

  /// DRAM-side nanoseconds per byte of a tile of these sizes.
  double byte_ns(const View& v, std::int64_t rows, std::int64_t columns, std::int64_t channels,
                 std::int64_t element_bytes, bool write) {
    const std::array<std::uint64_t, 9> key = {v.offset % 4096,
                                              v.stride[1],
                                              v.stride[2],
                                              v.stride[3],
                                              static_cast<std::uint64_t>(rows),
                                              static_cast<std::uint64_t>(columns),
                                              static_cast<std::uint64_t>(channels),
                                              write,
                                              static_cast<std::uint64_t>(element_bytes)};
    const auto [it, fresh] = rates_.try_emplace(key, 0.0);
    if (!fresh) return it->second;
    const auto bytes = static_cast<double>(rows * columns * channels * element_bytes);
    const double ns =
        forms::tile_dma_ns(m_, v.offset, v.stride, rows, columns, channels, element_bytes, write);
    return it->second = bytes > 0 ? ns / bytes : 0;
  }

  void search(bool split_columns, bool split_input) {
    const bool sums = rules_.sums_channels;
    std::vector<std::int64_t> channels =
        halves(group_out_, std::min(rules_.channel_grain, group_out_));
    if (rules_.whole_channels) channels = {group_out_};
    if (split_input && !rules_.whole_channels)
      for (std::int64_t c : {sram_alignment(m_), std::int64_t{1}})
        if (c < channels.back()) channels.push_back(c);
    std::vector<std::int64_t> inputs = {group_in_};
    if (split_input && sums) {
      inputs = halves(group_in_, std::min(rules_.input_grain, group_in_));
      for (std::int64_t c : {sram_alignment(m_), std::int64_t{1}})
        if (c < inputs.back()) inputs.push_back(c);
    }
    const std::vector<std::int64_t> rows =
        rules_.single_rows ? std::vector<std::int64_t>{1} : halves(walk_h_, 1);
    const std::vector<std::int64_t> columns = split_columns || walk_h_ == 1 || rules_.single_rows
                                                  ? halves(walk_w_, 1)
                                                  : std::vector{walk_w_};
    for (std::int64_t column : columns)
      for (std::int64_t row : rows)
        for (std::int64_t channel : channels)
          for (std::int64_t input : inputs)
            for (const bool outer : {true, false}) {
              if (!sums && outer) continue;
              for (const int slots : {2, 1})
                consider({row, column, channel, sums ? input : channel, outer}, slots);
            }
  }

  /// Bytes of one element of an operand, and of a stage's result.
  std::int64_t bytes_of(const Stage& s, std::size_t operand) const {
    const FormNode n = form_node(plan_, s);
    const ValueId v = n.input(s.operands[operand].what.input);
    return v == no_value ? 1 : n.element_bytes(v);
  }
  std::int64_t bytes_of(const Stage& s) const {
    const FormNode n = form_node(plan_, s);
    return n.element_bytes(n.result());
  }

  TileShape result_shape(const Stage& s, const Tiling& t) const {
    return rules_.sums_pixels ? tile_shape(m_, 1, 1, t.channels, bytes_of(s))
                              : tile_shape(m_, t.rows, t.columns, t.channels, bytes_of(s));
  }

  /// The largest box of an operand that any tile of these sizes needs, as a tile.
  TileShape widest(std::size_t operand, const Tiling& t) {
    std::int64_t size[2] = {};
    for (const int axis : {0, 1}) {
      const std::int64_t total = axis == 0 ? walk_h_ : walk_w_,
                         step = axis == 0 ? t.rows : t.columns;
      const auto [it, fresh] = widths_.try_emplace({operand, axis, step}, 0);
      for (std::int64_t at = 0; fresh && at < total; at += step) {
        const Span span{at, std::min(total, at + step)};
        TileBox tile{{0, {0, 1}, {0, 1}, {0, 1}}, {0, {0, 1}, {0, 1}, {0, 1}}};
        Box& box = rules_.sums_pixels ? tile.over : tile.out;
        (axis == 0 ? box.h : box.w) = span;
        const Box needed = form_.reach(node_, operand, tile);
        it->second = std::max(it->second, (axis == 0 ? needed.h : needed.w).size());
      }
      size[axis] = it->second;
    }
    // Whatever is not walked along is needed whole; channels follow the tiling.
    const Extent& e = head_.operands[operand].extent;
    const std::int64_t channels = e.c == 1               ? 1
                                  : rules_.sums_channels ? t.in_channels
                                                         : std::min(t.channels, e.c);
    return tile_shape(m_, size[0], size[1], channels, bytes_of(head_, operand));
  }

  void slot(Slots& s, std::int64_t bytes, std::int64_t tiles, int slots) const {
    bytes = std::min<std::int64_t>(bytes, std::numeric_limits<std::int32_t>::max());
    s.bytes = u32(round_up(bytes, sram_alignment(m_)));
    s.addresses.assign(static_cast<std::size_t>(std::min<std::int64_t>(slots, tiles)), 0);
  }

  /// A core would have nothing to do.
  bool leaves_cores_idle(const Tiling& t) const {
    if (split_ == Split::none) return false;
    if (split_ == Split::channels) return divide_up(head_.out.c, t.channels) < cores_;
    return head_.out.n * divide_up(head_.out.h, t.rows) * divide_up(head_.out.w, t.columns) <
           cores_;
  }

  void consider(const Tiling& t, int slots) {
    if (leaves_cores_idle(t)) return;
    if (m_.accumulators > 0 && form_.queue == Queue::mac &&
        t.rows * t.columns * t.channels > m_.accumulators)
      return;
    Layer l = layer_;
    l.tiling = t;
    l.split = split_;
    const Pieces rows(walk_h_, t.rows), columns(walk_w_, t.columns),
        channels(group_out_, t.channels),
        inputs(group_in_, rules_.sums_channels ? t.in_channels : group_in_);
    const std::int64_t pixels = head_.in.n * rows.count * columns.count;
    const std::int64_t out_tiles =
        (rules_.sums_pixels ? head_.in.n : pixels) * channels.count * groups_;
    const std::int64_t turns = rules_.sums_channels ? inputs.count : 1;
    double in_pixels = 1;
    for (std::size_t i = 0; i < l.stages.front().operands.size(); i++) {
      StageOperand& o = l.stages.front().operands[i];
      const bool walked =
          o.what.source == Operand::Source::value && o.what.input == head_.spec.data;
      if (o.what.source == Operand::Source::value && !o.what.matrix) {
        const TileShape shape = widest(i, t);
        slot(o.slots, shape.bytes(),
             pixels * (rules_.sums_channels ? turns * groups_ : channels.count), slots);
        if (walked) in_pixels = static_cast<double>(shape.rows * shape.columns);
      } else if (o.what.source == Operand::Source::packed || o.what.matrix) {
        slot(o.slots, form_.slot_bytes(node_, i, t, m_), channels.count * turns * groups_, slots);
      } else if (o.what.source == Operand::Source::made) {
        const Box all = form_.reach(node_, i, {{0, {0, 1}, {0, 1}, {0, 1}}, {}});
        slot(o.slots, form_.slot_bytes(node_, i, t, m_), all.empty() ? 1 : out_tiles, slots);
      }
    }
    const bool split = turns > 1 || (rules_.sums_pixels && rows.count * columns.count > 1);
    if (split) slot(l.accumulators, form_.accumulator_bytes(node_, t, m_), 1, slots);
    for (std::size_t k = 0; k < l.stages.size(); k++) {
      Stage& s = l.stages[k];
      const TileShape out = result_shape(s, t);
      slot(s.result, out.bytes(), out_tiles, slots);
      const FormNode n = form_node(plan_, s);
      for (std::size_t i = 0; k > 0 && i < s.operands.size(); i++) {
        StageOperand& o = s.operands[i];
        if (o.chained) continue;
        if (o.what.source == Operand::Source::value) {
          const Extent& e = o.extent;
          slot(o.slots,
               tile_shape(m_, e.h == 1 ? 1 : out.rows, e.w == 1 ? 1 : out.columns,
                          e.c == 1 ? 1 : out.channels, bytes_of(s, i))
                   .bytes(),
               out_tiles, slots);
        } else {
          slot(o.slots, s.form->slot_bytes(n, i, t, m_), 1, slots);
        }
      }
    }
    if (slot_bytes(l) > sram_) return;
    price(l, rows, columns, channels, inputs, in_pixels);
    keep(std::move(l));
  }

  /// Time; but half of the SRAM or less lets the next layer's first tiles load early, and hidden
  /// traffic costs energy and other DMAs' time.
  double score(const Layer& l) const {
    return l.time.total * (2 * slot_bytes(l) <= sram_ ? 0.97 : 1) +
           0.1 * (l.time.dma_in + l.time.dma_out);
  }

  void keep(Layer l) {
    const double value = score(l);
    if (best_.size() == most_kept && value >= best_.back().first) return;
    const auto at =
        std::ranges::upper_bound(best_, value, {}, [](const auto& b) { return b.first; });
    best_.insert(at, {value, std::move(l)});
    if (best_.size() > most_kept) best_.pop_back();
  }

  void price(Layer& l, const Pieces& rows, const Pieces& columns, const Pieces& channels,
             const Pieces& inputs, double in_pixels) {
    const Tiling& t = l.tiling;
    const double batch = static_cast<double>(head_.in.n), groups = static_cast<double>(groups_);
    const double dispatch = m_.cycles_to_ns(m_.dispatch_cycles);
    LayerTime time;
    double tiles = 0, first_compute = 0;
    for (const auto& r : rows)
      for (const auto& x : columns)
        for (const auto& c : channels) {
          const double times = static_cast<double>(r.times * x.times * c.times) * batch * groups;
          tiles += times;
          double here = 0;
          for (std::size_t s = 0; s < l.stages.size(); s++) {
            const forms::FormDef& form = *l.stages[s].form;
            const FormNode n = form_node(plan_, l.stages[s]);
            double ns = 0;
            const auto add = [&](std::int64_t in_channels, double turns) {
              const Tiling turn{r.size, x.size, c.size, in_channels, false};
              ns += turns * (m_.cycles_to_ns(form.cycles(n, turn, m_)) + dispatch);
            };
            if (form.queue != Queue::mac && form.queue != Queue::vector) continue;
            if (s == 0 && rules_.sums_channels)
              for (const auto& k : inputs) add(k.size, static_cast<double>(k.times));
            else
              add(c.size, 1);
            (form.queue == Queue::mac ? time.mac : time.vector) += times * ns;
            here += ns;
          }
          first_compute = std::max(first_compute, here);
        }
    // Loads: what does not stay in its slots is loaded again.
    const double pixel_tiles = batch * static_cast<double>(rows.count * columns.count);
    const double k = static_cast<double>(rules_.sums_channels ? inputs.count : 1),
                 o = static_cast<double>(channels.count);
    const auto slots = [](const Slots& s) { return static_cast<double>(s.addresses.size()); };
    double read_ns = 0, one_in = 0, in_loads = 0, weight_ns = 0;
    bool overlaps = true;
    for (const StageOperand& operand : l.stages.front().operands) {
      if (operand.what.source == Operand::Source::packed) {
        double passes = 1;
        if (!rules_.sums_channels)
          passes = o <= slots(operand.slots) ? 1 : pixel_tiles;
        else if (t.weights_outer)
          passes = k <= slots(operand.slots) ? 1 : pixel_tiles;
        else
          passes = o * k * groups <= slots(operand.slots) ? 1 : pixel_tiles;
        weight_ns = static_cast<double>(operand.slots.bytes) /
                    std::min(m_.dma_bytes_per_cycle * m_.clock_mhz * 1e-3, m_.constants_rate());
        time.dma_in += passes * o * k * groups * (weight_ns + 2 * setup_ns_);
      } else if (operand.what.source == Operand::Source::value &&
                 operand.what.input == head_.spec.data) {
        double passes = 1;
        if (rules_.sums_channels)
          passes = t.weights_outer ? (pixel_tiles * k * groups <= slots(operand.slots) ? 1 : o)
                                   : (k <= slots(operand.slots) ? 1 : o);
        const auto element = static_cast<double>(node_.element_bytes(node_.data()));
        const std::int64_t in_channels = rules_.sums_channels ? t.in_channels : t.channels;
        const std::int64_t in_columns = std::min(head_.in.w, std::max<std::int64_t>(t.columns, 1));
        read_ns = byte_ns(operand.view,
                          std::max<std::int64_t>(1, static_cast<std::int64_t>(in_pixels) /
                                                        std::max<std::int64_t>(in_columns, 1)),
                          in_columns, in_channels, static_cast<std::int64_t>(element), false);
        in_loads = pixel_tiles * (rules_.sums_channels ? k * groups : o) * passes;
        one_in = in_pixels * static_cast<double>(in_channels) * element * read_ns;
        // Tiles at the borders read less than the widest; count rows and columns that exist.
        const double covered = std::min(
            1.0, static_cast<double>(head_.in.h * head_.in.w) * overlap(rows, columns) /
                     std::max(1.0, static_cast<double>(rows.count * columns.count) * in_pixels));
        time.dma_in += in_loads * (one_in * covered + setup_ns_);
        overlaps = operand.slots.addresses.size() > 1 || in_loads <= 1;
      }
    }
    for (const Stage& s : l.stages)
      for (const StageOperand& operand : s.operands)
        if (operand.what.broadcast && !operand.chained && operand.what.input == s.spec.other &&
            operand.extent.elements() > 1)
          time.dma_in +=
              static_cast<double>(operand.extent.elements()) * read_ns + tiles * setup_ns_;
    const std::int64_t out_element = bytes_of(l.stages.back());
    const double out_bytes = static_cast<double>(l.stages.back().out.elements() * out_element);
    const double write_ns = rules_.sums_pixels
                                ? byte_ns(l.to, 1, 1, t.channels, out_element, true)
                                : byte_ns(l.to, t.rows, t.columns, t.channels, out_element, true);
    time.dma_out = out_bytes * write_ns + (rules_.sums_pixels ? o * batch : tiles) * setup_ns_;
    const double dram = (time.dma_in / std::max(read_ns, 1e-9) / m_.dram_read_efficiency +
                         out_bytes / m_.dram_write_efficiency) /
                        m_.dram_gb_per_s;
    const double first =
        one_in + (weight_ns > 0 ? weight_ns + setup_ns_ : 0) + setup_ns_ + m_.dram_latency_ns;
    const double last =
        out_bytes * write_ns / std::max(1.0, tiles) + setup_ns_ + m_.dram_latency_ns;
    const double busiest = std::max({time.mac, time.vector, time.dma_in, time.dma_out, dram});
    time.total = (overlaps ? busiest + first + last + first_compute
                           : time.mac + time.vector + time.dma_in + time.dma_out) +
                 m_.cycles_to_ns(m_.layer_switch_cycles);
    l.time = time;
  }

  /// How often an input pixel is read because windows of neighbouring tiles overlap.
  double overlap(const Pieces& rows, const Pieces& columns) const {
    const Window& w = head_.spec.window;
    const auto axis = [&](int i, std::int64_t count, std::int64_t size) {
      return static_cast<double>((count - 1) *
                                 std::max<std::int64_t>(0, w.reach(i) - w.stride[i])) /
             static_cast<double>(size);
    };
    return (1 + axis(1, rows.count, head_.in.h)) * (1 + axis(2, columns.count, head_.in.w));
  }

  const Plan& plan_;
  const Layer& layer_;
  const Split split_;
  const std::int64_t cores_;
  const Machine& m_;
  const std::uint32_t sram_;
  const Stage& head_;
  const FormNode node_;
  const forms::FormDef& form_;
  const forms::TileRules rules_;
  std::int64_t groups_ = 1, group_in_ = 1, group_out_ = 1, walk_h_ = 1, walk_w_ = 1;
  double setup_ns_ = 0;
  std::map<std::array<std::uint64_t, 9>, double> rates_;
  std::map<std::tuple<std::size_t, int, std::int64_t>, std::int64_t> widths_;
  std::vector<std::pair<double, Layer>> best_;
};

/// Sums first: they have the widest elements.
template <class L, class Visit>
void each_slots(L& l, Visit&& visit) {
  visit(l.accumulators);
  for (auto& s : l.stages) {
    for (auto& o : s.operands) visit(o.slots);
    visit(s.result);
  }
}

}  // namespace

bool choose_tiling(const Plan& plan, Layer& layer, std::uint32_t sram_bytes,
                   const PlanOptions& options, std::uint32_t cores) {
  const Machine& machine = plan.placement.target.machine;
  std::vector<Layer> best = Search(plan, layer, sram_bytes).run();
  if (best.empty()) return false;
  for (const Split split : {Split::pixels, Split::channels}) {
    if (cores < 2 || !options.time) break;
    // Means are summed over the pixels of one core.
    const Stage& head = layer.stages.front();
    if (split == Split::pixels && head.form->rules(form_node(plan, head), machine).sums_pixels)
      continue;
    std::ranges::move(Search(plan, layer, sram_bytes, split, cores).run(),
                      std::back_inserter(best));
  }
  if (!options.time) {
    layer = std::move(best.front());
    return true;
  }
  const auto weighed = [&](const Layer& l) {
    const bool early = options.prefetch && 2 * slot_bytes(l) <= sram_bytes;
    return l.time.total * (early ? 0.97 : 1);
  };
  const Layer* chosen = nullptr;
  for (Layer& l : best) {
    assign_slots(l, machine, sram_bytes, false);
    l.time = options.time(plan, std::span(&l, 1), layer_tasks(plan, l, 0), false);
    if (!chosen || weighed(l) < weighed(*chosen)) chosen = &l;
  }
  layer = *chosen;
  return true;
}

std::uint64_t slot_bytes(const Layer& l) {
  std::uint64_t sum = 0;
  each_slots(l, [&](const Slots& s) { sum += std::uint64_t{s.bytes} * s.addresses.size(); });
  return sum;
}

void assign_slots(Layer& l, const Machine& m, std::uint32_t sram_bytes, bool high) {
  const std::uint64_t need = slot_bytes(l);
  // 64-bit sums lie at multiples of eight.
  const auto alignment = std::lcm(static_cast<std::uint64_t>(sram_alignment(m)),
                                  std::uint64_t{l.accumulators.bytes > 0 ? 8u : 1u});
  std::uint64_t at = high ? (sram_bytes - need) / alignment * alignment : 0;
  each_slots(l, [&](Slots& s) {
    for (std::uint32_t& address : s.addresses) {
      address = static_cast<std::uint32_t>(at);
      at += s.bytes;
    }
  });
}

}  // namespace longshore::plan
