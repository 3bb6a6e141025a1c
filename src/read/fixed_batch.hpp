#pragma once
#include <string>
#include <vector>

#include "ir/graph.hpp"

namespace longshore {

/// A sentence for each node that allows only one batch although an input's first dim is a symbol: a
/// Reshape to a constant first dim, or an operator that joins the batch with a number.
std::vector<std::string> fixed_batch(const Graph&);

}  // namespace longshore
