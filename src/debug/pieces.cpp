#include "debug/pieces.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace longshore::debug {
namespace {

/// Of each instruction its index in the queue without taps; no_index for a tap.
std::vector<std::uint32_t> shipped_indices(const lower::Tapped& tapped, int queue) {
  std::vector<std::uint32_t> out;
  std::uint32_t next = 0;
  for (const Instruction& i : tapped.program.queues[queue])
    out.push_back(lower::is_tap(tapped, i) ? no_index : next++);
  return out;
}

}  // namespace

Pieces pieces_of(const lower::Tapped& tapped, const Graph& graph) {
  Pieces out;
  const Program& p = tapped.program;
  std::vector<std::uint64_t> offsets;
  for (std::size_t i = 0; i < tapped.values.size(); i++) {
    const Value& v = graph[tapped.values[i]];
    const ProgramValue& at = p.values[tapped.at[i]];
    out.tensors.push_back({v.name, at.dtype, at.shape, at.quantisation});
    offsets.push_back(at.offset);
  }
  std::vector<std::uint32_t> shipped[queue_count];
  for (int q = 0; q < queue_count; q++) shipped[q] = shipped_indices(tapped, q);
  Result<Schedule> order = schedule(p);
  require(order.status());
  // Of each byte of SRAM the last writer, as 1 + its place in the order.
  std::vector<std::vector<std::uint32_t>> last(p.machine.cores,
                                               std::vector<std::uint32_t>(p.machine.sram_bytes));
  const EngineId cpu = cpu_engine(p.machine);
  for (std::uint32_t at = 0; at < order->order.size(); at++) {
    const Effect& e = order->order[at];
    if (e.engine == cpu) continue;
    const Instruction& i = p.queues[e.engine % queue_count][e.index];
    const bool tap = lower::is_tap(tapped, i);
    std::vector<std::uint32_t> found;
    for (const Region& r : regions_of(i)) {
      if (r.space != Space::sram || r.write == tap) continue;
      each_run(r, [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t b = begin; b < end; b++) {
          std::uint32_t& writer = last[r.core][b];
          if (!tap)
            writer = at + 1;
          else if (writer != 0 && (found.empty() || found.back() != writer))
            found.push_back(writer);
        }
      });
    }
    if (!tap) continue;
    std::ranges::sort(found);
    found.erase(std::unique(found.begin(), found.end()), found.end());
    Piece piece;
    piece.store = i;
    Dma& dma = *piece.store.operation.get_if<Dma>();
    bool known = false;
    for (std::uint32_t t = 0; t < offsets.size() && !known; t++)
      if (dma.dram_address >= offsets[t] &&
          dma.dram_address < offsets[t] + out.tensors[t].bytes()) {
        piece.tensor = t;
        dma.dram_address -= offsets[t];
        known = true;
      }
    if (!known) continue;
    for (const std::uint32_t writer : found) {
      const Effect& w = order->order[writer - 1];
      piece.writers.push_back({w.engine, shipped[w.engine % queue_count][w.index]});
    }
    out.pieces.push_back(std::move(piece));
  }
  return out;
}

std::string box_of(const Region& region, const Shape& shape, std::uint64_t element) {
  std::int64_t low[max_rank], high[max_rank];
  bool any = false;
  each_run(region, [&](std::uint64_t begin, std::uint64_t end) {
    const auto first = static_cast<std::int64_t>(begin / element),
               last = static_cast<std::int64_t>((end - 1) / element);
    bool split = false;  // the run goes on in the next index of an axis before
    for (int a = 0; a < shape.rank; a++) {
      const std::int64_t inner = shape.product(a + 1, shape.rank);
      const std::int64_t from = split ? 0 : first / inner % shape[a],
                         to = split ? shape[a] - 1 : last / inner % shape[a];
      low[a] = any ? std::min(low[a], from) : from;
      high[a] = any ? std::max(high[a], to) : to;
      split = split || from != to;
    }
    any = true;
  });
  std::string out = "[";
  for (int a = 0; a < shape.rank && any; a++)
    out += str(a > 0 ? "," : "", low[a], ":", high[a] + 1);
  return out + "]";
}

}  // namespace longshore::debug
