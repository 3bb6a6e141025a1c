// A plan is a schedule: layers with their operands, tile tasks in order, and where everything lies.
// `plan` orders and places, `lower` only emits. docs/plan-lower.md is the chapter.
#pragma once
#include <algorithm>
#include <array>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "forms/support/move_map.hpp"
#include "place/place.hpp"
#include "plan/arena.hpp"

namespace longshore::plan {

using forms::Box;
using forms::Extent;
using forms::FormNode;
using forms::MoveMap;
using forms::Span;
using forms::TileBox;
using forms::TileShape;
using forms::TileTask;
using forms::Tiling;

/// Where the elements of a value lie in DRAM: element (n, h, w, c) at buffer + offset +
/// n * stride[0] + h * stride[1] + w * stride[2] + c * stride[3], all in bytes.
struct View {
  std::uint32_t buffer = no_buffer;  // into Plan::buffers; no_buffer: a constant or nowhere
  ValueId constant = no_value;
  std::uint64_t offset = 0;
  std::array<std::uint64_t, 4> stride{};
  bool present() const { return buffer != no_buffer || constant != no_value; }
  bool operator==(const View&) const = default;
};

/// Equal pieces of SRAM that take turns.
struct Slots {
  std::uint32_t bytes = 0;
  std::vector<std::uint32_t> addresses;
  bool operator==(const Slots&) const = default;
};

/// An operand of a stage: what it is, where it comes from and where its tiles go.
struct StageOperand {
  forms::Operand what;
  /// It is the tile that the stage before has made.
  bool chained = false;
  View view;      // of values
  Extent extent;  // of values, aligned with the result
  Slots slots;
  bool operator==(const StageOperand&) const = default;
};

/// One form on a tile in SRAM: the head of a layer or one that is fused behind it.
struct Stage {
  std::size_t node = 0;
  const forms::FormDef* form = nullptr;
  FormSpec spec;
  Extent in, out;  // what is walked: the whole values, or a part
  std::vector<StageOperand> operands;
  Slots result;
  bool operator==(const Stage&) const = default;
};

/// Predicted nanoseconds of a layer that runs alone: how long each engine is busy, and the whole.
struct LayerTime {
  double mac = 0, vector = 0, dma_in = 0, dma_out = 0, total = 0;
  /// Of the busiest engine: the least that the work can take.
  double busiest() const { return std::max({mac, vector, dma_in, dma_out}); }
  bool operator==(const LayerTime&) const = default;
};

/// How the tiles of a layer are shared out to the cores: neighbours stay together.
enum class Split : std::uint8_t {
  none,      // one core does all
  pixels,    // by rows and columns (and batch); each core loads its weights
  channels,  // by output channels; each core loads its input
};

/// What runs tile by tile on the NPU.
struct Layer {
  std::vector<Stage> stages;           // the head, then what is fused
  View to;                             // where the last stage's result goes
  std::array<std::int64_t, 4> part{};  // where it begins in its value (a part of a join), NHWC
  Tiling tiling;
  Split split = Split::none;
  std::uint32_t core = 0;  // which does it, unless it is split
  Slots accumulators;
  LayerTime time;
  std::size_t head() const { return stages.front().node; }
  bool operator==(const Layer&) const = default;
};

/// A value that has no bytes of its own: it shows those of another, or is written into another.
struct Alias {
  ValueId parent = no_value;
  bool full = false;  // the same elements in the same order (view)
  bool part = false;  // it is written as a part of the parent (join)
  MoveMap map;        // unless full
  bool operator==(const Alias&) const = default;
};

/// A step of the whole program, in order: a tile task of the NPU or a node on the CPU.
struct Item {
  bool npu = false;
  std::size_t index = 0;  // into Plan::tasks or graph.nodes
  bool operator==(const Item&) const = default;
};

/// Layers `first` to `last`, which hand each other stripes in SRAM or share those of an input.
struct Cascade {
  std::size_t first = 0, last = 0, stripes = 1;
  std::uint32_t sram_bytes = 0;  // of all of them together
  bool operator==(const Cascade&) const = default;
};

/// How the placed graph runs: order, layouts, tiles, memory.
struct Plan {
  Placement placement;           // final: nodes without a fitting tile went to the CPU
  std::uint32_t sram_bytes = 0;  // of each core, that tiles may use
  std::vector<Layer> layers;
  std::vector<Cascade> cascades;  // by first layer; no layer is in two
  std::vector<TileTask> tasks;
  std::vector<Item> items;
  std::vector<View> values;            // by value; not present: not in the arena
  std::vector<bool> dense;             // by value: row-major as the CPU wants it
  std::vector<Alias> aliases;          // by value
  std::vector<ValueId> staged_inputs;  // graph inputs that a CPU step copies into the arena
  std::vector<Buffer> buffers;
  Arena arena;

  std::uint32_t sram_peak() const;
  /// The arena and the SRAM of a core up to its last byte that a tile lies in.
  std::uint64_t memory_bytes() const;
};

/// The stage as its form sees it. The plan's graph must stay.
FormNode form_node(const Plan&, const Stage&);
/// The value that the last stage makes, or a part of which it makes.
ValueId layer_result(const Plan&, const Layer&);

/// What these tasks take alone; their layers are numbers into those given, which need not be the
/// plan's. `through_dram`: one reads there what another has stored. src/lower has one that emits
/// them and asks the simulator.
using TaskTimer = std::function<LayerTime(const Plan&, std::span<const Layer>,
                                          std::span<const TileTask>, bool through_dram)>;

/// What a plan wants least of.
enum class Goal : std::uint8_t { time, memory };

struct PlanOptions {
  /// memory, with `time`: of plans within the SRAM, half of it, a quarter and so on that take at
  /// most twice the least time, the one with the least Plan::memory_bytes; of equal ones the
  /// fastest. No more nodes go to the CPU.
  Goal goal = Goal::time;
  std::uint32_t sram_bytes = 0;  // 0: the machine's; else at most that
  bool fuse = true;
  bool cascade = true;     // where `time` says that it pays
  bool horizontal = true;  // likewise: layers share the tiles of an input that all read
  bool cores = true;       // likewise: all of the machine's
  bool branches = true;    // likewise: layers that need not wait for each other change places
  /// Layers lie at alternating ends of the SRAM, so that one loads while the one before works.
  bool prefetch = true;
  /// Decides between the best few tilings of a layer, and gives its time. Null: the estimate that
  /// the search goes by.
  TaskTimer time;
  /// Nanoseconds of a whole plan, infinite if the machine cannot run it; with `time`. What pays for
  /// a few layers alone may cost the whole, as those that follow load later: of plans with cascades
  /// and cores, and without, the best is taken.
  std::function<double(const Plan&)> total;
};

/// Plans a placement. Nodes for which no tile fits into the SRAM are moved to the CPU with that
/// reason.
Plan make_plan(const Placement&, const PlanOptions& = {});

/// Cores that plans use.
inline constexpr std::uint32_t most_cores = 4;

/// The tasks of one layer in the order of its tiling, those of its cores in turn: slots take turns,
/// and what is still in one is not loaded again.
std::vector<TileTask> layer_tasks(const Plan&, const Layer&, std::uint32_t number);

/// A listing for people and tests: layouts, tiles, slots.
std::string print(const Plan&);

}  // namespace longshore::plan
