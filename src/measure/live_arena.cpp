#include "measure/live_arena.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "program/region.hpp"

namespace longshore {
namespace {

/// Bytes [begin, end) of the arena are written from `ns` on, or read until then.
struct Access {
  double ns = 0;
  bool write = false;
  std::uint64_t begin = 0, end = 0;
};

/// When the instruction or step at `index` of an engine begins and ends.
class Times {
 public:
  explicit Times(const Timing& t) {
    for (const Interval& i : t.intervals) {
      auto [at, fresh] = spans_.try_emplace({i.engine, i.index}, i.start_ns, i.end_ns);
      if (fresh) continue;
      at->second.first = std::min(at->second.first, i.start_ns);
      at->second.second = std::max(at->second.second, i.end_ns);
    }
  }
  /// Null: it takes no time.
  const std::pair<double, double>* of(EngineId e, std::uint32_t index) const {
    const auto at = spans_.find({e, index});
    return at == spans_.end() ? nullptr : &at->second;
  }

 private:
  std::map<std::pair<EngineId, std::uint32_t>, std::pair<double, double>> spans_;
};

void add_value(std::vector<Access>& out, const Program& p, std::uint32_t v, bool write, double ns) {
  if (v == no_index || p.values[v].storage != Storage::arena || !p.values[v].fixed_shape) return;
  std::uint64_t bytes = size_bytes(p.values[v].dtype);
  for (const std::int64_t dim : p.values[v].shape) bytes *= static_cast<std::uint64_t>(dim);
  if (bytes > 0) out.push_back({ns, write, p.values[v].offset, p.values[v].offset + bytes});
}

std::vector<Access> accesses_of(const Program& p, const Timing& t) {
  std::vector<Access> out;
  const Times times(t);
  const EngineId cpu = cpu_engine(p.machine);
  for (const auto& queue : p.queues)
    for (std::uint32_t n = 0; n < queue.size(); n++) {
      const auto* span = times.of(engine_of(queue[n]), n);
      if (span == nullptr) continue;
      for (const Region& r : regions_of(queue[n]))
        if (r.space == Space::arena)
          each_run(r, [&](std::uint64_t begin, std::uint64_t end) {
            out.push_back({r.write ? span->first : span->second, r.write, begin, end});
          });
    }
  for (std::uint32_t n = 0; n < p.steps.size(); n++) {
    const auto* span = times.of(cpu, n);
    if (span == nullptr || !computes(p.steps[n])) continue;
    for (std::uint32_t v : p.steps[n].inputs) add_value(out, p, v, false, span->second);
    for (std::uint32_t v : p.steps[n].outputs) add_value(out, p, v, true, span->first);
  }
  for (std::uint32_t v : p.outputs) add_value(out, p, v, false, t.total_ns);
  // What is written while the reader still works is another piece, so reads come first.
  std::ranges::stable_sort(out, [](const Access& a, const Access& b) {
    return a.ns != b.ns ? a.ns < b.ns : a.write < b.write;
  });
  return out;
}

}  // namespace

std::vector<LiveBytes> live_arena(const Program& p, const Timing& t) {
  const std::uint64_t piece = std::max<std::uint64_t>(64, (p.arena_bytes >> 26) * 64);
  struct Piece {
    double written = -1, read = -1;
  };
  std::vector<Piece> pieces(static_cast<std::size_t>(p.arena_bytes / piece + 1));
  std::map<double, std::int64_t> changes;
  const auto close = [&](Piece& x) {
    if (x.written < 0 || x.read <= x.written) return;
    changes[x.written] += static_cast<std::int64_t>(piece);
    changes[x.read] -= static_cast<std::int64_t>(piece);
  };
  for (const Access& a : accesses_of(p, t)) {
    const auto first = static_cast<std::size_t>(a.begin / piece),
               last = std::min(static_cast<std::size_t>((a.end - 1) / piece), pieces.size() - 1);
    for (std::size_t i = first; i <= last; i++) {
      Piece& x = pieces[i];
      if (!a.write) {
        x.read = std::max(x.read, a.ns);
      } else if (x.read > x.written || x.written < 0) {  // several writes fill one piece
        close(x);
        x = {a.ns, -1};
      }
    }
  }
  for (Piece& x : pieces) close(x);
  std::vector<LiveBytes> out;
  std::int64_t live = 0;
  for (const auto& [ns, change] : changes) {
    live += change;
    out.push_back({ns, static_cast<std::uint64_t>(live)});
  }
  return out;
}

}  // namespace longshore
