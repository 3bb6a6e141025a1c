// The steps inside make_plan, in order: group, memory, tiles.
#pragma once
#include <set>

#include "plan/shapes.hpp"

namespace longshore::plan {

/// Uses of every value.
struct Uses {
  explicit Uses(const Graph&);
  std::vector<std::vector<std::size_t>> nodes;  // by value; once per use
  std::vector<bool> output, captured;
};

/// A move (Slice, Transpose, ...), view or Concat that costs nothing because one value shows bytes
/// of another.
struct Alias {
  ValueId parent = no_value;
  bool full = false;  // the same elements in the same order (view)
  MoveMap map;        // otherwise
};

/// What runs on the NPU as layers and what is an alias.
struct Grouping {
  std::vector<Alias> aliases;  // by value
  std::vector<Layer> layers;   // stages and piece are set, nothing else
  std::vector<Item> items;
  std::vector<bool> skipped;  // by node: an alias, nothing runs
};
Grouping group(const Placement&, const Uses&, bool fuse, const std::set<std::size_t>& apart);

/// Sets values, dense, staged_inputs, buffers and the layers' views.
void place_in_memory(Plan&, const Grouping&, const Uses&);

/// Chooses the tiling of a layer for the least time and sets the sizes of its slots; false if
/// nothing fits into `sram_bytes`.
bool choose_tiling(const Plan&, Layer&, std::uint32_t sram_bytes);
/// Bytes of SRAM that the layer's slots take.
std::uint64_t slot_bytes(const Layer&, const Machine&);
/// Gives the slots addresses from the low or the high end.
void assign_slots(Layer&, const Machine&, std::uint32_t sram_bytes, bool high);

/// The type of the input that a layer's head walks, and the value it makes.
ValueId head_input(const Graph&, const Layer&);
ValueId layer_output(const Graph&, const Layer&);
/// The layer's output is a part of a Concat: input `piece` of its last node.
bool into_concat(const Graph&, const Layer&);
/// Where that part begins, NHWC.
std::array<std::int64_t, 4> part_start(const Graph&, const Layer&);

}  // namespace longshore::plan
