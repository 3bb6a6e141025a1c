#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "forms/form.hpp"
#include "target/target.hpp"

namespace longshore {

/// One way to run a node: a unit of the target and, on an NPU, the form.
struct PlacementOption {
  std::string_view unit;                 // an entry of target.units(): "cpu", "npu"
  const forms::FormDef* form = nullptr;  // how the NPU would run it; null: the unit's own kernels
  double us = -1;                        // predicted, alone; -1: impossible, or dims are unknown
  std::vector<Reason> reasons;           // why it is not taken: every failed limit
  bool operator==(const PlacementOption&) const = default;
};

struct NodePlacement {
  std::vector<PlacementOption> options;  // the CPU first, then the NPU's, special cases first
  std::size_t chosen = 0;
  FormSpec spec;                // the node in the words of its form
  std::vector<Reason> general;  // why no form of an NPU takes it
  std::int64_t macs = 0;
  double move_us = 0;  // layout changes, cache care and hand-overs if its neighbours stay
  bool operator==(const NodePlacement&) const = default;

  const PlacementOption& option() const { return options[chosen]; }
  std::string_view unit() const { return option().unit; }
  /// The form that runs it, or null on the CPU.
  const forms::FormDef* form() const { return option().form; }
  bool on_npu() const { return form() != nullptr; }
  /// Predicted microseconds on the host CPU, -1 where dims are unknown.
  double cpu_us() const { return options.front().us; }
  /// The best of the NPU's options, or null where the target has no NPU or no form takes the node.
  const PlacementOption* npu() const;
  double npu_us() const { return npu() ? npu()->us : -1; }
  /// Why it is not on the NPU: all of them. Empty where it is.
  std::vector<Reason> reasons() const;
};

/// Where each node runs, and why.
struct Placement {
  Graph graph;
  Target target;
  std::vector<NodePlacement> nodes;  // as graph.nodes

  /// Part of all multiply-accumulates that runs on the NPU, 0 to 1 (0 where there are none).
  double npu_mac_share() const;
  std::int64_t macs() const;
};

struct PlaceOptions {
  /// false: everything that the NPU can do goes there, whatever it costs.
  bool by_price = true;
  /// false: channels come first everywhere; else each value has the order that most work asks for.
  bool choose_order = true;
  /// Nodes whose unit is given, whatever it costs, by index into graph.nodes: true for the NPU.
  std::map<std::size_t, bool> forced = {};
};

/// Decides for each node. Throws if the graph's rounding mode is one that the target lacks, and if
/// a node is forced to an NPU that cannot run it.
Placement place(const Graph&, const Target&, const PlaceOptions& = {});

/// Moves a node to the CPU for a reason found later (no tile fits into the SRAM).
void move_to_cpu(Placement&, std::size_t node, Reason);

/// The node as its form sees it; its extents are those of the whole values, aligned.
forms::FormNode form_node(const Graph&, const Node&, const FormSpec&);

}  // namespace longshore
