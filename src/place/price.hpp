// Prices before anything is planned: a roofline per node. The plan's tile search gives better ones.
#pragma once
#include "place/place.hpp"

namespace longshore {

/// Multiply-accumulates of one run of the node; 0 where it has none.
std::int64_t node_macs(const Graph&, const Node&);
/// Predicted microseconds of one node on the host CPU; -1: dims are unknown. `constants_gb_per_s`:
/// of a memory of its own that constants are read from; 0: there is none.
double cpu_price_us(const Graph&, const Node&, const HostCpu&, double constants_gb_per_s = 0);
/// Predicted microseconds on the NPU with its DMA and the switch of layers; -1: unknown dims.
double npu_price_us(const forms::FormDef&, const forms::FormNode&, const Machine&);
/// Microseconds of handing a value from NPU to CPU (or back): signal, cache care, layout.
double move_price_us(const Graph&, ValueId, const Machine&, bool to_cpu);

}  // namespace longshore
