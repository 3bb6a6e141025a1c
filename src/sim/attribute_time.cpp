#include "sim/attribute_time.hpp"

#include <algorithm>

namespace longshore {
namespace {

struct Edge {
  double ns;
  bool begins;
  std::uint32_t interval;
};

/// Smaller is charged first.
int rank(const Interval& interval, std::size_t engines) {
  static constexpr int by_queue[queue_count] = {2, 3, 0, 1};  // dma_in, dma_out, mac, vector
  const int queue =
      interval.engine + 1 == engines ? queue_count : by_queue[interval.engine % queue_count];
  return static_cast<int>(interval.activity) * (queue_count + 1) + queue;
}

}  // namespace

void attribute_time(Timing& timing, std::size_t engines) {
  std::vector<Edge> edges;
  edges.reserve(timing.intervals.size() * 2);
  for (std::uint32_t i = 0; i < timing.intervals.size(); i++) {
    edges.push_back({timing.intervals[i].start_ns, true, i});
    edges.push_back({timing.intervals[i].end_ns, false, i});
  }
  // At the same moment ends come first; an engine has one interval at a time.
  std::stable_sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) {
    return a.ns != b.ns ? a.ns < b.ns : a.begins < b.begins;
  });
  std::vector<std::uint32_t> running(engines, no_index);
  double since = 0;
  for (const Edge& edge : edges) {
    const double ns = edge.ns - since;
    if (ns > 0) {
      const Interval* charged = nullptr;
      for (std::uint32_t i : running)
        if (i != no_index &&
            (charged == nullptr || rank(timing.intervals[i], engines) < rank(*charged, engines)))
          charged = &timing.intervals[i];
      const int activity =
          static_cast<int>(charged != nullptr ? charged->activity : Activity::idle);
      timing.time.ns[activity] += ns;
      const bool layer = charged != nullptr && charged->layer != no_index;
      (layer ? timing.layers[charged->layer].time : timing.no_layer).ns[activity] += ns;
      since = edge.ns;
    }
    running[timing.intervals[edge.interval].engine] = edge.begins ? edge.interval : no_index;
  }
}

}  // namespace longshore
