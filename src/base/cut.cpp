#include "base/cut.hpp"

#include <algorithm>

namespace longshore {

std::size_t LeastCut::add_vertex() {
  edges_of_.emplace_back();
  return edges_of_.size() - 3;
}

void LeastCut::link(std::size_t from, std::size_t to, std::int64_t price) {
  if (price <= 0) return;
  edges_of_[from].push_back(edges_.size());
  edges_.push_back({to, price});
  edges_of_[to].push_back(edges_.size());
  edges_.push_back({from, 0});
}

void LeastCut::add_edge(std::size_t from, std::size_t to, std::int64_t price) {
  link(from + 2, to + 2, price);
}

void LeastCut::add_prices(std::size_t vertex, std::int64_t first, std::int64_t second) {
  link(vertex + 2, sink, first);
  link(source, vertex + 2, second);
}

/// Steps from the source where there is room; false if the sink is out of reach.
bool LeastCut::find_levels() {
  levels_.assign(edges_of_.size(), -1);
  levels_[source] = 0;
  std::vector<std::size_t> queue = {source};
  for (std::size_t at = 0; at < queue.size(); at++)
    for (std::size_t e : edges_of_[queue[at]])
      if (edges_[e].room > 0 && levels_[edges_[e].to] < 0) {
        levels_[edges_[e].to] = levels_[queue[at]] + 1;
        queue.push_back(edges_[e].to);
      }
  return levels_[sink] >= 0;
}

/// Fills shortest paths until there are none. Without recursion: chains of nodes are long.
void LeastCut::push_flows() {
  std::vector<std::size_t> next(edges_of_.size()), path;  // path: edges from the source
  for (;;) {
    const std::size_t at = path.empty() ? source : edges_[path.back()].to;
    if (at == sink) {
      std::int64_t flow = forbidden;
      for (std::size_t e : path) flow = std::min(flow, edges_[e].room);
      for (std::size_t e : path) edges_[e].room -= flow, edges_[e ^ 1].room += flow;
      const auto full =
          std::ranges::find_if(path, [&](std::size_t e) { return edges_[e].room == 0; });
      path.erase(full, path.end());
      continue;
    }
    const std::vector<std::size_t>& out = edges_of_[at];
    while (next[at] < out.size() && (edges_[out[next[at]]].room == 0 ||
                                     levels_[edges_[out[next[at]]].to] != levels_[at] + 1))
      next[at]++;
    if (next[at] < out.size()) {
      path.push_back(out[next[at]]);
    } else if (path.empty()) {
      return;
    } else {
      levels_[at] = -1;
      path.pop_back();
    }
  }
}

std::vector<bool> LeastCut::first_side() {
  while (find_levels()) push_flows();
  // What the sink can be reached from is on its side; all else may be on the first.
  std::vector<bool> second(edges_of_.size());
  second[sink] = true;
  std::vector<std::size_t> queue = {sink};
  for (std::size_t at = 0; at < queue.size(); at++)
    for (std::size_t e : edges_of_[queue[at]])
      if (edges_[e ^ 1].room > 0 && !second[edges_[e].to]) {
        second[edges_[e].to] = true;
        queue.push_back(edges_[e].to);
      }
  std::vector<bool> out(edges_of_.size() - 2);
  for (std::size_t i = 0; i < out.size(); i++) out[i] = !second[i + 2];
  return out;
}

}  // namespace longshore
