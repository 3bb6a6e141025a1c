#include "lower/taps.hpp"

#include <algorithm>

namespace longshore::lower {
namespace {

/// What an alias shows of a box of its parent; nothing where it shows none of it.
std::optional<TapBox> seen(const TapBox& parent, const plan::MoveMap& map,
                           const std::array<std::int64_t, 4>& size) {
  TapBox out = parent;
  std::array<bool, 4> walked{};
  for (std::size_t a = 0; a < 4; a++) {
    const std::int64_t step = map.step[a];
    out.at[a] = 0, out.count[a] = 1, out.stride[a] = 0;
    if (step == 0) continue;
    const auto k = static_cast<std::size_t>(map.axis[a]);
    walked[k] = true;
    // Positions p of the alias with start + p * step inside the box.
    const std::int64_t low = parent.at[k] - map.start[k], high = low + parent.count[k];
    const std::int64_t first = std::max<std::int64_t>(0, (low + step - 1) / step);
    const std::int64_t end = std::min(size[a], (high + step - 1) / step);
    if (first >= end || high <= 0) return {};
    out.at[a] = first;
    out.count[a] = end - first;
    out.stride[a] = static_cast<std::uint64_t>(step) * parent.stride[k];
    out.sram +=
        static_cast<std::uint64_t>(map.start[k] + first * step - parent.at[k]) * parent.stride[k];
  }
  for (std::size_t k = 0; k < 4; k++) {
    if (walked[k]) continue;
    const std::int64_t at = map.start[k] - parent.at[k];
    if (at < 0 || at >= parent.count[k]) return {};
    out.sram += static_cast<std::uint64_t>(at) * parent.stride[k];
  }
  return out;
}

void down(const plan::Plan& p, const std::vector<std::vector<ValueId>>& shown_by, ValueId v,
          const TapBox& box, const std::function<void(ValueId, const TapBox&)>& visit) {
  visit(v, box);
  const Graph& g = p.placement.graph;
  for (ValueId child : shown_by[index(v)]) {
    const plan::Alias& a = p.aliases[index(child)];
    const auto e = forms::extent_of(g[child]);
    if (!e) continue;
    if (a.full) {
      // Walked otherwise: the alias shows the same row-major bytes, so its tap is its parent's.
      if (forms::same_walk(g[child], g[v])) down(p, shown_by, child, box, visit);
    } else if (const auto part = seen(box, a.map, {e->n, e->h, e->w, e->c})) {
      down(p, shown_by, child, *part, visit);
    }
  }
}

}  // namespace

TapBox tap_box(const plan::Box& b, const Tile& t, const std::array<std::int64_t, 4>& part) {
  return {{b.n + part[0], b.h.from + part[1], b.w.from + part[2], b.c.from + part[3]},
          {1, b.h.size(), b.w.size(), b.c.size()},
          {0, t.row_stride, t.pixel_stride, size_bytes(t.dtype)},
          t.address,
          static_cast<std::int64_t>(size_bytes(t.dtype))};
}

void each_tap(const plan::Plan& p, const std::vector<std::vector<ValueId>>& shown_by, ValueId v,
              const TapBox& box, const std::function<void(ValueId, const TapBox&)>& visit) {
  TapBox at = box;
  for (;;) {
    down(p, shown_by, v, at, visit);
    const plan::Alias& a = p.aliases[index(v)];
    if (!a.part) return;
    const TapBox own = at;
    for (std::size_t i = 0; i < 4; i++) {
      const auto k = static_cast<std::size_t>(a.map.axis[i]);
      at.at[k] = own.at[i] + a.map.start[k];
      at.count[k] = own.count[i], at.stride[k] = own.stride[i];
    }
    v = a.parent;
  }
}

std::vector<Dma> tap_transfers(const TapBox& t, std::uint64_t offset,
                               const std::array<std::uint64_t, 4>& stride, std::uint32_t dims) {
  Dma base;
  base.dram_address = offset;
  base.sram_address = static_cast<std::uint32_t>(t.sram);
  std::vector<forms::TransferLoop> loops;
  for (std::size_t i = 0; i < 4; i++) {
    base.dram_address += static_cast<std::uint64_t>(t.at[i]) * stride[i];
    loops.push_back({t.count[i], stride[i], t.stride[i]});
  }
  return forms::transfers(base, std::move(loops), t.element_bytes, dims);
}

}  // namespace longshore::lower
