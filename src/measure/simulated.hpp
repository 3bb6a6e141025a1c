#pragma once
#include <optional>
#include <span>
#include <vector>

#include "ir/op.hpp"
#include "sim/simulate.hpp"

namespace longshore {

/// Runs a program on the simulated NPU; its CPU steps run the reference kernels of the graph that it was
/// lowered from (step.layer is the node, values have the graph's numbers). For comparison: what
/// differs then is the NPU's doing.
class SimulatedGraph {
 public:
  /// Both must outlive this. Throws what the program's check says.
  SimulatedGraph(const Graph&, const Program&, SimulatorOptions = {});

  /// One inference; the program's outputs in order. `order_seed` 0: the predicted order; else a
  /// legal order drawn at random.
  std::vector<Tensor> run(std::span<const Tensor> inputs, std::uint64_t order_seed = 0);
  const Timing& timing() const { return simulator_->timing(); }

 private:
  const Graph& graph_;
  const Program& program_;
  std::optional<Simulator> simulator_;
  std::vector<std::byte> arena_;
};

}  // namespace longshore
