// The steps inside make_plan, in order: group, memory, tiles, schedule.
#pragma once
#include <set>

#include "plan/plan.hpp"

namespace longshore::plan {

/// Uses of every value.
struct Uses {
  explicit Uses(const Graph&);
  std::vector<std::vector<std::size_t>> nodes;  // by value; once per use
  std::vector<bool> output, captured;
};

/// What runs on the NPU as layers and what is an alias.
struct Grouping {
  /// A layer or a node of the CPU, in order.
  struct Step {
    bool npu = false;
    std::size_t index = 0;  // into layers or graph.nodes
  };
  std::vector<Alias> aliases;  // by value
  std::vector<Layer> layers;   // stages with node, form and spec; part
  std::vector<Step> steps;
};
Grouping group(const Placement&, const Uses&, bool fuse, const std::set<std::size_t>& apart);

/// Sets values, dense, aliases, staged_inputs, buffers, and of the layers extents and views.
void place_in_memory(Plan&, const Grouping&, const Uses&);

/// Gives all buffers their places in the arena, anew.
void place_buffers(Plan&);
/// From which step to which each buffer is needed, if the steps run in the grouping's order.
void find_lifetimes(Plan&, const Grouping&);

/// Chooses the tiling of a layer for the least time and sets the sizes of its slots; false if
/// nothing fits into `sram_bytes`.
bool choose_tiling(const Plan&, Layer&, std::uint32_t sram_bytes, const PlanOptions&,
                   std::uint32_t cores = 1);
/// Bytes of SRAM that the layer's slots take.
std::uint64_t slot_bytes(const Layer&);
/// Gives the slots addresses from the low or the high end.
void assign_slots(Layer&, const Machine&, std::uint32_t sram_bytes, bool high);

/// A cascade that gains time, with what its layers and their tasks become; their numbers begin at
/// the cascade's first layer.
struct ChosenCascade {
  Cascade what;
  std::vector<Layer> layers;
  std::vector<TileTask> tasks;
  std::vector<std::uint32_t> gone;  // buffers that are only in SRAM now
};
std::vector<ChosenCascade> choose_cascades(const Plan&, const Grouping&, const PlanOptions&,
                                           std::uint32_t cores);

/// Another order of the same steps, those of a cascade together.
struct BranchOrder {
  std::vector<Grouping::Step> steps;
  std::vector<std::uint32_t> core;  // by layer: which does those that one core does
  bool changed = false;
};
/// Steps that need not wait for each other take turns, or a core each. A guess by their times.
BranchOrder order_branches(const Plan&, const Grouping&, const std::vector<ChosenCascade>&,
                           const TaskTimer&, std::uint32_t cores);

}  // namespace longshore::plan
