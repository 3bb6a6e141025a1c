#include "measure/layer_use.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "program/region.hpp"
#include "sim/costs.hpp"

namespace longshore {
namespace {

using Span = std::pair<std::uint64_t, std::uint64_t>;

/// Bytes that at least one of the intervals covers.
std::uint64_t covered(std::vector<Span> spans) {
  std::ranges::sort(spans);
  std::uint64_t bytes = 0, end = 0;
  for (const auto& [first, last] : spans) {
    if (last > end) bytes += last - std::max(first, end);
    end = std::max(end, last);
  }
  return bytes;
}

void count_bytes(const Program& p, std::vector<LayerUse>& uses) {
  std::map<std::pair<std::uint32_t, std::uint8_t>, std::vector<Span>> sram;  // by layer and core
  for (const auto& queue : p.queues)
    for (const Instruction& i : queue) {
      if (i.layer >= uses.size() || is_control(i.operation)) continue;
      LayerUse& use = uses[i.layer];
      use.energy_uj += energy_nj(p.machine, i) * 1e-3;
      for (const Region& r : regions_of(i)) {
        if (r.space == Space::sram)
          sram[{i.layer, r.core}].emplace_back(r.address, r.end());
        else if (r.space == Space::constants)
          use.weight_bytes += r.bytes();
        else
          (r.write ? use.output_bytes : use.input_bytes) += r.bytes();
      }
    }
  for (auto& [key, spans] : sram) {
    std::uint64_t& most = uses[key.first].sram_bytes;
    most = std::max(most, covered(std::move(spans)));
  }
}

/// Of one layer on one engine.
struct Busy {
  double work = 0, dispatch = 0;
};

BoundBy bound_of(Queue q) {
  switch (q) {
    case Queue::dma_in:
      return BoundBy::dma_in;
    case Queue::dma_out:
      return BoundBy::dma_out;
    case Queue::mac:
      return BoundBy::mac;
    case Queue::vector:
      return BoundBy::vector;
  }
  return BoundBy::nothing;
}

}  // namespace

std::string_view name(BoundBy b) noexcept {
  constexpr std::string_view names[] = {"-",       "mac",      "vector", "dma in",
                                        "dma out", "dispatch", "host"};
  return names[static_cast<int>(b)];
}

std::vector<LayerUse> layer_uses(const Program& p, const Timing& t) {
  std::vector<LayerUse> uses(p.layers.size());
  std::map<std::pair<std::uint32_t, EngineId>, Busy> busy;
  const EngineId cpu = cpu_engine(p.machine);
  for (const Interval& i : t.intervals) {
    if (i.layer >= uses.size()) continue;
    const double ns = i.end_ns - i.start_ns;
    if (i.engine == cpu) {
      if (i.activity == Activity::host) uses[i.layer].host_ns += ns;
      continue;
    }
    Busy& b = busy[{i.layer, i.engine}];
    (i.activity == Activity::dispatch ? b.dispatch : b.work) += ns;
  }
  std::vector<double> longest(uses.size());
  for (const auto& [key, b] : busy) {
    LayerUse& use = uses[key.first];
    const Queue queue = static_cast<Queue>(key.second % queue_count);
    double& most = use.busy_ns[static_cast<int>(queue)];
    most = std::max(most, b.work);
    if (b.work + b.dispatch <= longest[key.first]) continue;
    longest[key.first] = b.work + b.dispatch;
    use.dispatch_ns = b.dispatch;
    use.bound = b.dispatch > b.work ? BoundBy::dispatch : bound_of(queue);
  }
  for (std::size_t i = 0; i < uses.size(); i++)
    if (uses[i].host_ns > longest[i]) uses[i].bound = BoundBy::host;
  count_bytes(p, uses);
  return uses;
}

double peak_macs_per_ns(const Machine& m) noexcept {
  if (!m.present) return 0;
  double per_cycle = static_cast<double>(m.mac_rows) * m.mac_columns;
  if (m.dataflow == Dataflow::micro_block) per_cycle *= m.micro_width * m.micro_height;
  return per_cycle * m.cores / m.cycles_to_ns(1);
}

Roofline roofline(const Program& p, const Timing& t) {
  const Machine& m = p.machine;
  Roofline out;
  out.total_ns = t.total_ns;
  if (!m.present) return out;
  out.compute_ns = static_cast<double>(t.macs) / peak_macs_per_ns(m);
  std::uint64_t constants = 0;
  std::vector<Span> needed;  // of the constants
  for (const auto& queue : p.queues)
    for (const Instruction& i : queue)
      for (const Region& r : regions_of(i))
        if (r.space == Space::constants) {
          constants += r.bytes();
          each_run(r, [&](std::uint64_t first, std::uint64_t last) {
            needed.emplace_back(first, last);
          });
        }
  // 10^9 bytes per second are bytes per nanosecond.
  const double read = m.dram_gb_per_s * m.dram_read_efficiency,
               write = m.dram_gb_per_s * m.dram_write_efficiency;
  const double once = static_cast<double>(covered(std::move(needed))) / m.constants_rate(),
               weights = static_cast<double>(constants) / m.constants_rate(),
               values = static_cast<double>(t.dram_read_bytes - constants) / read +
                        static_cast<double>(t.dram_write_bytes) / write;
  // A memory of its own works beside the DRAM.
  out.dram_ns = m.constants_gb_per_s > 0 ? std::max(weights, values) : weights + values;
  out.constants_ns = once;
  return out;
}

}  // namespace longshore
