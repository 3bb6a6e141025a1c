#pragma once
#include <span>
#include <string>
#include <vector>

#include "ir/graph.hpp"

namespace longshore {

/// Which nodes of a graph become integer, and why the others do not.
struct Selection {
  std::vector<bool> quantised;       // per node
  std::vector<std::string> reasons;  // per node; empty where quantised
};

struct SelectOptions {
  bool float_final_probabilities = true;
  std::span<const std::string> exclude;
};

Selection select_nodes(const Graph&, const SelectOptions&);

/// True where the node's name, an output's name or its operator is in the list.
bool excluded(const Graph&, const Node&, std::span<const std::string> exclude);

/// The inputs that hold activations (not weights, bias, bounds, shapes).
std::vector<std::size_t> data_inputs(const Graph&, const Node&);

/// Input 1 holds constant weights and input 2, if any, the bias.
bool is_weighted(const Graph&, const Node&);

}  // namespace longshore
