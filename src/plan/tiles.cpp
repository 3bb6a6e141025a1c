// The search for tile sizes: every candidate is priced with the closed forms that the simulator
// uses, engines side by side, and the cheapest that fits is taken.
#include <algorithm>
#include <limits>

#include "program/instructions/eltwise.hpp"
#include "program/instructions/pool.hpp"
#include "program/instructions/reduce.hpp"
#include "program/instructions/requantise.hpp"
#include "program/instructions/resize.hpp"
#include "program/instructions/table.hpp"
#include "plan/dma.hpp"
#include "plan/stages.hpp"
#include "sim/costs.hpp"

namespace longshore::plan {
namespace {

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
  Search(const Plan& plan, Layer& layer, std::uint32_t sram_bytes)
      : l_(layer),
        m_(plan.placement.target.machine),
        sram_(sram_bytes),
        form_(layer.stages.front().form),
        mac_(form_ == Form::mac),
        depthwise_(form_ == Form::depthwise),
        reduce_(form_ == Form::reduce) {
    group_in_ = mac_ ? l_.in.c / l_.groups : l_.in.c;
    group_out_ = mac_ ? l_.out.c / l_.groups : l_.out.c;
    walk_h_ = reduce_ ? l_.in.h : l_.out.h;
    walk_w_ = reduce_ ? l_.in.w : l_.out.w;
    read_ns_ = byte_ns(l_.from, false);
    write_ns_ = byte_ns(l_.to, true);
    setup_ns_ = m_.cycles_to_ns(m_.dma_setup_cycles + m_.dispatch_cycles) +
                (m_.dma_depth < 2 ? m_.dram_latency_ns : 0);
  }

  bool run() {
    for (const bool split_columns : {false, true}) {
      if (split_columns && found()) break;
      search(split_columns, false);
    }
    if (!found()) search(true, true);
    if (!found()) return false;
    l_ = best_;
    return true;
  }

 private:
  bool found() const { return best_.time.total > 0; }

  /// DRAM-side nanoseconds per byte of a big transfer in this layout.
  double byte_ns(const View& v, bool write) const {
    Dma d;
    d.run_bytes = 1;
    const Extent& e = write ? l_.out : l_.in;
    const std::int64_t pixel = tile_shape(m_, 1, 1, std::min<std::int64_t>(e.c, 4096)).pixel_stride;
    const std::vector<Dma> all =
        transfers({},
                  {{std::min<std::int64_t>(e.h, 64), v.stride[1], u32(e.w * pixel)},
                   {std::min<std::int64_t>(e.w, 256), v.stride[2], u32(pixel)},
                   {std::min<std::int64_t>(e.c, 4096), v.stride[3], 1}},
                  1, 4);
    double bytes = 0, ns = 0;
    for (const Dma& part : all) {
      const DmaCost c = dma_cost(m_, part, write);
      bytes += static_cast<double>(c.bytes);
      ns += static_cast<double>(c.dram_bytes) /
            std::min(c.bytes_per_ns, m_.dram_gb_per_s / c.dram_share);
    }
    return bytes > 0 ? ns / bytes : 0;
  }

  void search(bool split_columns, bool split_input) {
    const std::int64_t grain = mac_         ? m_.mac_columns
                               : depthwise_ ? std::max<std::int64_t>(m_.depthwise_lanes, 1)
                                            : sram_alignment(m_);
    const std::int64_t rows_grain = mac_ ? m_.mac_rows : 1;
    std::vector<std::int64_t> channels = halves(group_out_, std::min(grain, group_out_));
    if (split_input)
      for (std::int64_t c : {sram_alignment(m_), std::int64_t{1}})
        if (c < channels.back()) channels.push_back(c);
    std::vector<std::int64_t> inputs = {group_in_};
    if (split_input && mac_) {
      inputs = halves(group_in_, std::min(rows_grain, group_in_));
      for (std::int64_t c : {sram_alignment(m_), std::int64_t{1}})
        if (c < inputs.back()) inputs.push_back(c);
    }
    const std::vector<std::int64_t> rows = halves(walk_h_, 1);
    const std::vector<std::int64_t> columns =
        split_columns ? halves(walk_w_, 1) : std::vector{walk_w_};
    for (std::int64_t column : columns)
      for (std::int64_t row : rows)
        for (std::int64_t channel : channels)
          for (std::int64_t input : inputs)
            for (const bool outer : {true, false}) {
              if (!mac_ && outer) continue;
              for (const int slots : {2, 1})
                consider({row, column, channel, mac_ ? input : channel, outer}, slots);
            }
  }

  Span widest_in(std::int64_t size, bool columns) const {
    const std::int64_t total = columns ? walk_w_ : walk_h_;
    if (reduce_) return {0, size};
    std::int64_t most = 1;
    if (form_ == Form::resize) {
      for (std::int64_t at = 0; at < total; at += size)
        most = std::max(most, input_reach(l_, {at, std::min(total, at + size)}, columns).in.size());
      return {0, most};
    }
    const Window& w = l_.window;
    most = columns ? (size - 1) * w.stride_w + w.reach_w() : (size - 1) * w.stride_h + w.reach_h();
    return {0, std::min(most, columns ? l_.in.w : l_.in.h)};
  }

  void consider(const Tiling& t, int slots) {
    if (m_.accumulators > 0 && (mac_ || depthwise_) &&
        t.rows * t.columns * t.channels > m_.accumulators)
      return;
    Layer l = l_;
    l.tiling = t;
    const std::int64_t in_rows = widest_in(t.rows, false).size(),
                       in_columns = widest_in(t.columns, true).size();
    const Pieces rows(walk_h_, t.rows), columns(walk_w_, t.columns),
        channels(group_out_, t.channels), inputs(group_in_, mac_ ? t.in_channels : group_in_);
    const std::int64_t pixels = l.in.n * rows.count * columns.count;
    const auto turns = [&](std::int64_t tiles) {
      return static_cast<std::size_t>(std::min<std::int64_t>(slots, tiles));
    };
    const std::int64_t in_tiles = pixels * (mac_ ? inputs.count * l.groups : channels.count);
    const std::int64_t out_tiles = (reduce_ ? l.in.n : pixels) * channels.count * l.groups;
    const auto slot = [&](Slots& s, std::int64_t bytes, std::int64_t tiles) {
      if (bytes > std::numeric_limits<std::int32_t>::max())
        bytes = std::numeric_limits<std::int32_t>::max();
      s.bytes = u32(round_up(bytes, sram_alignment(m_)));
      s.addresses.assign(turns(tiles), 0);
    };
    slot(l.in_slots, tile_shape(m_, in_rows, in_columns, mac_ ? t.in_channels : t.channels).bytes(),
         in_tiles);
    const std::int64_t weight_tiles = channels.count * inputs.count * l.groups;
    if (mac_ || depthwise_) slot(l.weights, weight_bytes(t), weight_tiles);
    if (mac_ && inputs.count > 1) {
      slot(l.accumulators, tile_shape(m_, t.rows, t.columns, t.channels).bytes() * 4, 1);
    } else if (reduce_ && rows.count * columns.count > 1) {
      slot(l.accumulators, round_up(t.channels * 4, sram_alignment(m_)), 1);
    }
    const TileShape out =
        reduce_ ? tile_shape(m_, 1, 1, t.channels) : tile_shape(m_, t.rows, t.columns, t.channels);
    for (Stage& s : l.stages) {
      slot(s.out, out.bytes(), out_tiles);
      if (s.form == Form::table) slot(s.parameters, 256, 1);
      if (s.form == Form::eltwise) {
        const Extent& e = s.side_extent;
        slot(s.side_slots,
             tile_shape(m_, e.h == 1 ? 1 : out.rows, e.w == 1 ? 1 : out.columns,
                        e.c == 1 ? 1 : out.channels)
                 .bytes(),
             out_tiles);
      }
    }
    if (form_ == Form::resize)
      slot(l.stages[0].parameters, 2 * (t.rows + t.columns) + 2 * sram_alignment(m_), out_tiles);
    if (slot_bytes(l, m_) > sram_) return;
    price(l, rows, columns, channels, inputs, static_cast<double>(in_rows * in_columns));
    if (!found() || score(l) < score(best_)) best_ = std::move(l);
  }

  /// Time; but half of the SRAM or less lets the next layer's first tiles load early, and hidden
  /// traffic costs energy and other DMAs' time.
  double score(const Layer& l) const {
    return l.time.total * (2 * slot_bytes(l, m_) <= sram_ ? 0.97 : 1) +
           0.1 * (l.time.dma_in + l.time.dma_out);
  }

  std::int64_t weight_bytes(const Tiling& t) const {
    const std::int64_t taps = l_.window.kernel_h * l_.window.kernel_w, a = sram_alignment(m_);
    const std::int64_t weights = depthwise_ ? taps * round_up(t.channels, a)
                                            : t.channels * taps * round_up(t.in_channels, a);
    return round_up(weights, a) + t.channels * static_cast<std::int64_t>(sizeof(ChannelParameters));
  }

  void price(Layer& l, const Pieces& rows, const Pieces& columns, const Pieces& channels,
             const Pieces& inputs, double in_pixels) const {
    const Tiling& t = l.tiling;
    const double batch = static_cast<double>(l.in.n), groups = static_cast<double>(l.groups);
    const double dispatch = m_.cycles_to_ns(m_.dispatch_cycles);
    LayerTime time;
    double tiles = 0, first_compute = 0;
    for (const auto& r : rows)
      for (const auto& x : columns)
        for (const auto& c : channels) {
          const double times = static_cast<double>(r.times * x.times * c.times) * batch * groups;
          tiles += times;
          double here = 0;
          if (mac_ || depthwise_) {
            for (const auto& k : inputs) {
              Conv conv;
              conv.depthwise = depthwise_;
              conv.kernel_h = u32(l.window.kernel_h), conv.kernel_w = u32(l.window.kernel_w);
              conv.out_h = u32(r.size), conv.out_w = u32(x.size), conv.out_c = u32(c.size),
              conv.in_c = u32(k.size);
              const double ns = m_.cycles_to_ns(conv_cycles(m_, conv)) + dispatch;
              time.mac += times * static_cast<double>(k.times) * ns;
              here += static_cast<double>(k.times) * ns;
            }
          }
          for (std::size_t s = mac_ || depthwise_ ? 1 : 0; s < l.stages.size(); s++) {
            const double ns =
                m_.cycles_to_ns(stage_cycles(
                    l.stages[s], static_cast<std::uint64_t>(r.size * x.size * c.size))) +
                dispatch;
            time.vector += times * ns;
            here += ns;
          }
          first_compute = std::max(first_compute, here);
        }
    // Loads: what does not stay in its slots is loaded again.
    const double pixel_tiles = batch * static_cast<double>(rows.count * columns.count);
    const double one_in =
        in_pixels * static_cast<double>(mac_ ? t.in_channels : t.channels) * read_ns_;
    double in_passes = 1, weight_passes = 1;
    const double k = static_cast<double>(inputs.count), o = static_cast<double>(channels.count);
    const auto slots = [](const Slots& s) { return static_cast<double>(s.addresses.size()); };
    if (mac_) {
      if (t.weights_outer) {
        in_passes = pixel_tiles * k * groups <= slots(l.in_slots) ? 1 : o;
        weight_passes = k <= slots(l.weights) ? 1 : pixel_tiles;
      } else {
        in_passes = k <= slots(l.in_slots) ? 1 : o;
        weight_passes = o * k * groups <= slots(l.weights) ? 1 : pixel_tiles;
      }
    } else if (depthwise_) {
      weight_passes = o <= slots(l.weights) ? 1 : pixel_tiles;
    }
    const double in_loads = pixel_tiles * (mac_ ? k * groups : o) * in_passes;
    // Tiles at the borders read less than the widest; count rows and columns that exist.
    const double covered = std::min(
        1.0, static_cast<double>(l.in.h * l.in.w) * overlap(l, rows, columns) /
                 std::max(1.0, static_cast<double>(rows.count * columns.count) * in_pixels));
    time.dma_in = in_loads * (one_in * covered + setup_ns_);
    const double weight_ns = static_cast<double>(l.weights.bytes) /
                             std::min(m_.dma_bytes_per_cycle * m_.clock_mhz * 1e-3,
                                      m_.dram_gb_per_s * m_.dram_read_efficiency);
    if (mac_ || depthwise_)
      time.dma_in += weight_passes * (mac_ ? o * k * groups : o) * (weight_ns + 2 * setup_ns_);
    for (const Stage& s : l.stages)
      if (s.form == Form::eltwise && s.side_extent.elements() > 1) {
        time.dma_in += static_cast<double>(s.side_extent.elements()) * read_ns_ + tiles * setup_ns_;
      }
    const double out_bytes = static_cast<double>(l.out.elements());
    time.dma_out = out_bytes * write_ns_ + (reduce_ ? o * batch : tiles) * setup_ns_;
    const double dram = (time.dma_in / std::max(read_ns_, 1e-9) / m_.dram_read_efficiency +
                         out_bytes / m_.dram_write_efficiency) /
                        m_.dram_gb_per_s;
    const double first =
        one_in + (mac_ || depthwise_ ? weight_ns + setup_ns_ : 0) + setup_ns_ + m_.dram_latency_ns;
    const double last =
        out_bytes * write_ns_ / std::max(1.0, tiles) + setup_ns_ + m_.dram_latency_ns;
    const bool overlap_loads = l.in_slots.addresses.size() > 1 || in_loads <= 1;
    const double busiest = std::max({time.mac, time.vector, time.dma_in, time.dma_out, dram});
    time.total = (overlap_loads ? busiest + first + last + first_compute
                                : time.mac + time.vector + time.dma_in + time.dma_out) +
                 m_.cycles_to_ns(m_.layer_switch_cycles);
    l.time = time;
  }

  /// How often an input pixel is read because windows of neighbouring tiles overlap.
  double overlap(const Layer& l, const Pieces& rows, const Pieces& columns) const {
    if (form_ == Form::reduce || form_ == Form::resize || form_ == Form::move) return 1;
    const double h =
        static_cast<double>((rows.count - 1) *
                            std::max<std::int64_t>(0, l.window.reach_h() - l.window.stride_h)) /
        static_cast<double>(l.in.h);
    const double w =
        static_cast<double>((columns.count - 1) *
                            std::max<std::int64_t>(0, l.window.reach_w() - l.window.stride_w)) /
        static_cast<double>(l.in.w);
    return (1 + h) * (1 + w);
  }

  double stage_cycles(const Stage& s, std::uint64_t elements) const {
    const std::uint64_t window =
        static_cast<std::uint64_t>(l_.window.kernel_h * l_.window.kernel_w);
    switch (s.form) {
      case Form::table:
        return vector_cycles(m_, vector_unit::table, elements);
      case Form::quantise:
        return vector_cycles(m_, vector_unit::requantise, elements);
      case Form::eltwise:
        return vector_cycles(m_, vector_unit::add, elements);
      case Form::pool:
        return vector_cycles(m_, vector_unit::max_pool, elements, window);
      case Form::reduce:
        return vector_cycles(m_, vector_unit::reduce, elements);
      case Form::resize:
        return vector_cycles(m_, vector_unit::resize, elements);
      default:
        return 0;
    }
  }

  Layer& l_;
  const Machine& m_;
  const std::uint32_t sram_;
  const Form form_;
  const bool mac_, depthwise_, reduce_;
  std::int64_t group_in_ = 1, group_out_ = 1, walk_h_ = 1, walk_w_ = 1;
  double read_ns_ = 0, write_ns_ = 0, setup_ns_ = 0;
  Layer best_;
};

template <class L, class Visit>
void each_slots(L& l, Visit&& visit) {
  visit(l.weights);
  visit(l.in_slots);
  visit(l.accumulators);
  for (auto& s : l.stages) {
    visit(s.parameters);
    visit(s.side_slots);
    visit(s.out);
  }
}

}  // namespace

bool choose_tiling(const Plan& plan, Layer& layer, std::uint32_t sram_bytes) {
  return Search(plan, layer, sram_bytes).run();
}

std::uint64_t slot_bytes(const Layer& l, const Machine&) {
  std::uint64_t sum = 0;
  each_slots(l, [&](const Slots& s) { sum += std::uint64_t{s.bytes} * s.addresses.size(); });
  return sum;
}

void assign_slots(Layer& l, const Machine& m, std::uint32_t sram_bytes, bool high) {
  const std::uint64_t need = slot_bytes(l, m);
  std::uint64_t at = high ? (sram_bytes - need) / static_cast<std::uint64_t>(sram_alignment(m)) *
                                static_cast<std::uint64_t>(sram_alignment(m))
                          : 0;
  each_slots(l, [&](Slots& s) {
    for (std::uint32_t& address : s.addresses) {
      address = static_cast<std::uint32_t>(at);
      at += s.bytes;
    }
  });
}

}  // namespace longshore::plan
