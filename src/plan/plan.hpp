#pragma once
#include <array>
#include <string>
#include <vector>

#include "place/place.hpp"
#include "plan/arena.hpp"

namespace longshore::plan {

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

/// A window over height and width, with padding before and after.
struct Window {
  std::int64_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, dilation_h = 1,
               dilation_w = 1;
  std::int64_t pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;
  std::int64_t reach_h() const { return (kernel_h - 1) * dilation_h + 1; }
  std::int64_t reach_w() const { return (kernel_w - 1) * dilation_w + 1; }
  bool operator==(const Window&) const = default;
};

/// The nearest-neighbour source of each output row and column of a Resize.
struct ResizeMap {
  std::vector<std::int64_t> rows, columns;
  bool operator==(const ResizeMap&) const = default;
};

/// How an output tile is cut.
struct Tiling {
  std::int64_t rows = 1, columns = 1, channels = 1;
  std::int64_t in_channels = 1;  // mac: input channels summed at once; else equal to channels
  bool weights_outer = false;    // mac: walk all pixels for one block of output channels
  bool operator==(const Tiling&) const = default;
};

/// One operation on a tile in SRAM: the head of a layer or one that is fused behind it.
struct Stage {
  std::size_t node = 0;
  Form form = Form::none;
  int side = -1;  // eltwise: which input of the node comes from DRAM; -1: none
  View side_view;
  Extent side_extent;
  Slots side_slots, out;
  Slots parameters;  // table: its 256 bytes; resize: indices
  bool operator==(const Stage&) const = default;
};

/// Predicted nanoseconds of a layer by engine; the slowest and the edges make the total.
struct LayerTime {
  double mac = 0, vector = 0, dma_in = 0, dma_out = 0, total = 0;
  bool operator==(const LayerTime&) const = default;
};

/// What runs tile by tile from DRAM to DRAM on the NPU.
struct Layer {
  std::vector<Stage> stages;  // the head, then what is fused
  int piece = -1;             // Concat: the input that this layer copies
  Extent in, out;
  Window window;
  std::int64_t groups = 1;
  ResizeMap resize;                   // Resize only
  std::array<std::int64_t, 4> pad{};  // Pad: where the input begins in the output, NHWC
  View from, to;
  Tiling tiling;
  Slots in_slots, weights, accumulators;
  LayerTime time;
  std::size_t head() const { return stages.front().node; }
  std::size_t last() const { return stages.back().node; }
  bool operator==(const Layer&) const = default;
};

/// A value that layers write straight into a part of another (Concat); NHWC position of the part.
struct PartOf {
  ValueId whole = no_value;
  std::array<std::int64_t, 4> start{};
  bool operator==(const PartOf&) const = default;
};

/// A step of the whole program, in order: a layer on the NPU or a node on the CPU.
struct Item {
  bool npu = false;
  std::size_t index = 0;  // into Plan::layers or graph.nodes
  bool operator==(const Item&) const = default;
};

/// How the placed graph runs: order, layouts, tiles, memory.
struct Plan {
  Placement placement;           // final: nodes without a fitting tile went to the CPU
  std::uint32_t sram_bytes = 0;  // that tiles may use
  std::vector<Layer> layers;
  std::vector<Item> items;
  std::vector<View> values;            // by value; not present: not in the arena
  std::vector<bool> dense;             // by value: row-major as the CPU wants it
  std::vector<PartOf> parts;           // by value
  std::vector<ValueId> staged_inputs;  // graph inputs that a CPU step copies into the arena
  std::vector<Buffer> buffers;
  Arena arena;

  std::uint32_t sram_peak() const;
};

struct PlanOptions {
  std::uint32_t sram_bytes = 0;  // 0: the machine's; else at most that
  bool fuse = true;
};

/// Plans a placement. Nodes for which no tile fits into the SRAM are moved to the CPU with that
/// reason.
Plan make_plan(Placement, const PlanOptions& = {});

/// A listing for people and tests: layouts, tiles, slots.
std::string print(const Plan&);

}  // namespace longshore::plan
