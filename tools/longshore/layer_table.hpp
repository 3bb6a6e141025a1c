#pragma once
#include <span>

#include "compile/compile.hpp"
#include "table.hpp"

namespace longshore {

/// The columns of `build`'s table of nodes, without a row: those of a terminal, and more for
/// Markdown.
Table layer_columns(const compile::Compiled&, std::string heading);
/// Adds a row for each of the nodes; one that is part of another's layer says so. `notes`: with the
/// reasons and prices of fallbacks below, else with the number of parts.
void add_layers(Table&, const compile::Compiled&, std::span<const std::size_t> nodes, bool notes);
/// The row of what is no node's own time; nothing where the target has no NPU.
void add_handover(Table&, const compile::Compiled&);
/// All nodes and the hand-over.
Table layer_table(const compile::Compiled&);

}  // namespace longshore
