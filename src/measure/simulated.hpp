#pragma once
#include <optional>
#include <span>
#include <vector>

#include "measure/reference_host.hpp"

namespace longshore {

/// Runs a program on the simulated NPU; its CPU steps run the reference kernels of the graph that
/// it was lowered from. For comparison: what differs then is the NPU's doing.
class SimulatedGraph {
 public:
  /// Both must outlive this. Throws what the program's check says.
  SimulatedGraph(const Graph&, const Program&, SimulatorOptions = {});

  /// One inference; the program's outputs in order. `order_seed` 0: the predicted order; else a
  /// legal order drawn at random.
  std::vector<Tensor> run(std::span<const Tensor> inputs, std::uint64_t order_seed = 0);
  /// After a run: a value of the program as the CPU sees it, and what the CPU's steps computed.
  Tensor value(std::uint32_t index) const { return host_.value(index, arena_); }
  const Values& cpu_values() const { return host_.computed(); }
  const Timing& timing() const { return simulator_->timing(); }

 private:
  const Program& program_;
  ReferenceHost host_;
  std::optional<Simulator> simulator_;
  std::vector<std::byte> arena_;
};

}  // namespace longshore
