#pragma once
#include <string>
#include <vector>

#include "ir/op.hpp"
#include "target/target.hpp"

namespace longshore {

enum class Unit : std::uint8_t { cpu, npu };

/// One limit that keeps a node from the NPU.
struct Reason {
  std::string text;    // "kernel_h is 33; the target allows 1 to 31"
  std::string where;   // "rk3588-like.toml:82", or empty where no file says it
  std::string change;  // the smallest change that would remove it
  bool operator==(const Reason&) const = default;
};

struct NodePlacement {
  Unit unit = Unit::cpu;
  Form form = Form::none;       // how the NPU would run it
  std::vector<Reason> reasons;  // why it is not on the NPU: all of them
  std::int64_t macs = 0;
  double cpu_us = 0;   // predicted on the host CPU
  double npu_us = -1;  // predicted on the NPU with its DMA and dispatch; -1: impossible
  double move_us = 0;  // layout changes, cache care and hand-overs if its neighbours stay
  bool operator==(const NodePlacement&) const = default;
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
};

/// Decides for each node. Throws if the graph's rounding mode is one that the target lacks.
Placement place(const Graph&, const Target&, const PlaceOptions& = {});

/// Moves a node to the CPU for a reason found later (no tile fits into the SRAM). Views of it
/// follow.
void move_to_cpu(Placement&, std::size_t node, Reason);

/// The dims of a value as the NPU walks them: NCHW, NCL (one row) or NC.
struct Extent {
  std::int64_t n = 1, h = 1, w = 1, c = 1;
  std::int64_t elements() const { return n * h * w * c; }
  bool operator==(const Extent&) const = default;
};
std::optional<Extent> extent_of(const TensorType&);
/// Extents of operand `v`, whose dims are aligned with those of the output as numpy does.
Extent operand_extent(const Graph&, ValueId v, ValueId output);

/// The form that lowering would use, and what Longshore itself cannot lower (empty: it can).
Form npu_form(const Graph&, const Node&);
std::vector<Reason> lowering_limits(const Graph&, const Node&, Form);

/// Predicted microseconds of one node on the host CPU.
double cpu_price_us(const Graph&, const Node&, const HostCpu&);

}  // namespace longshore
