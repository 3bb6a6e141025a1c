// The cheapest way to share out the vertices of a graph between two sides (a minimum cut, found as
// the greatest flow: Dinic 1970).
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace longshore {

/// Prices are whole numbers of any unit, so that sums are exact. `forbidden` is more than all of
/// them together may be.
class LeastCut {
 public:
  static constexpr std::int64_t forbidden = std::int64_t{1} << 60;

  LeastCut() : edges_of_(2) {}

  std::size_t add_vertex();
  /// What it costs that the vertex lies on either side.
  void add_prices(std::size_t vertex, std::int64_t first, std::int64_t second);
  /// What it costs that `from` lies on the first side and `to` on the second.
  void add_edge(std::size_t from, std::size_t to, std::int64_t price);

  /// True for each vertex on the first side; where two ways cost the same, on the first side.
  std::vector<bool> first_side();

 private:
  static constexpr std::size_t source = 0, sink = 1;  // on the first and on the second side
  struct Edge {
    std::size_t to;
    std::int64_t room;
  };
  void link(std::size_t from, std::size_t to, std::int64_t price);
  bool find_levels();
  void push_flows();

  std::vector<Edge> edges_;  // each followed by its reverse
  std::vector<std::vector<std::size_t>> edges_of_;
  std::vector<int> levels_;
};

}  // namespace longshore
