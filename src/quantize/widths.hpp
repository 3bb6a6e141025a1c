// Which layers compute with 8-bit activations and which with 16, by what either takes and by what 8
// bits do to the outputs.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "ir/graph.hpp"

namespace longshore {

/// Nodes that a target runs as one, by the names of what they make, and what they take in codes of
/// either width.
struct LayerWidths {
  std::vector<std::string> outputs;
  double narrow_us = 0, wide_us = 1;
};

struct WidthPrices {
  std::vector<LayerWidths> layers;
  std::map<std::string, double> convert_us;  // by value: from one width to the other
};

/// What a target takes; absent functions: nobody knows, and each node of 16 bits costs the same.
struct WidthCosts {
  /// Predicted microseconds of a quantised graph.
  std::function<double(const Graph&)> us;
  /// Of the same graph in either width, whose values have the same names.
  std::function<WidthPrices(const Graph& narrow, const Graph& wide)> prices;
};

/// Values between layers, each of which is narrow (8 bits) or wide (16).
class WidthProblem {
 public:
  static constexpr std::size_t nobody = ~std::size_t{0};

  std::size_t add_layer(double narrow_us, double wide_us);
  /// A value that `maker` makes (or nobody) and others read. Its noise is there unless all of them
  /// are wide; a conversion is paid where they differ.
  void add_value(std::size_t maker, std::vector<std::size_t> readers, double noise,
                 double convert_us);
  std::size_t layers() const { return layers_.size(); }

  double noise(const std::vector<bool>& wide) const;
  double price_us(const std::vector<bool>& wide) const;
  /// The least of price_us + us_for_noise * noise, by a minimum cut.
  std::vector<bool> cheapest(double us_for_noise) const;
  /// A cheap choice with at most so much noise: the best for one price of noise, and what of it
  /// may be narrow after all. As little noise as possible where that is too little.
  std::vector<bool> within(double noise) const;

 private:
  struct Layer {
    double narrow_us, wide_us;
  };
  struct Link {
    std::size_t maker;
    std::vector<std::size_t> readers;
    double noise, convert_us;
  };
  bool all_wide(const Link&, const std::vector<bool>& wide) const;

  std::vector<Layer> layers_;
  std::vector<Link> links_;
};

}  // namespace longshore
