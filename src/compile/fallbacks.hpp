// Which nodes the NPU of a target does not run, why and at what price, and what a change of the
// model would gain.
#pragma once
#include <string>
#include <vector>

#include "change/change.hpp"
#include "compile/compile.hpp"

namespace longshore::compile {

/// Every limit that keeps a node of Compiled::graph from the NPU; of a float node, why it is float.
std::vector<Reason> reasons_of(const Compiled&, std::size_t node);

/// A node that the CPU runs though the target has an NPU.
struct Fallback {
  enum class Kind : std::uint8_t {
    limit,    // something about it, or the target, keeps it
    follows,  // its data is float because of another node
    price,    // the NPU could run it and would be slower
    border,   // codes become floats, or floats codes, where the model begins or ends or hands over
  };
  Kind kind = Kind::limit;
  std::size_t node = 0;
  std::vector<Reason> reasons;
  double us = 0;  // predicted: its own time, the care for the cache and the waiting
};
std::string_view name(Fallback::Kind);

/// The dearest first. Empty where the target has no NPU.
std::vector<Fallback> fallbacks(const Compiled&);

/// Those of one operator with reasons of one kind together (borders whatever their neighbours are),
/// the dearest group first.
std::vector<std::vector<Fallback>> alike(const Compiled&, std::vector<Fallback>);

/// Nodes that one change is tried on together, and what comes of it.
struct Suggestion {
  std::vector<Fallback> nodes;         // alike: of one operator, kept by reasons of one kind
  const ChangeDef* change = nullptr;   // null: none is known
  std::string from, to;                // operators: "Conv" to "SpaceToDepth, Conv"
  double before_ms = 0, after_ms = 0;  // predicted, of the whole model
  bool tried = false;
  std::string left;  // what keeps the nodes from the NPU after the change; empty: nothing
  bool gone() const { return tried && left.empty(); }
};

/// For each kind of fallback, the dearest first, the change that removes it: applied to a copy of
/// the model, which is built again. `options` are those that made `c`.
std::vector<Suggestion> suggest(const Options& options, const Compiled& c);

/// The model (Compiled::optimised) with changes made: of the nodes that `names` names (a node, an
/// output, an operator, a change, "exact" for those that keep the answers, or "all") and that have
/// one. Repeated until nothing named is left, as a change may uncover another limit. Throws for a
/// name that matches no node or that no change is known for.
Compiled compile_changed(Options, const std::vector<std::string>& names);

}  // namespace longshore::compile
