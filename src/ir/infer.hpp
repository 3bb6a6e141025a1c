#pragma once
#include "ir/graph.hpp"

namespace longshore {

/// Infers the outputs of one node from the types of its inputs, and checks its schema. Sees only
/// constants as known elements; infer(graph) sees shape arithmetic too.
void infer_node(Graph&, std::size_t node);

}  // namespace longshore
