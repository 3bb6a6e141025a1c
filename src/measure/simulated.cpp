#include "measure/simulated.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace longshore {

SimulatedGraph::SimulatedGraph(const Graph& g, const Program& p, SimulatorOptions options)
    : program_(p), host_(p, g) {
  Result<Simulator> simulator = Simulator::create(p, options);
  require(simulator.status());
  simulator_.emplace(std::move(*simulator));
  arena_.resize(p.arena_bytes);
}

std::vector<Tensor> SimulatedGraph::run(std::span<const Tensor> inputs, std::uint64_t order_seed) {
  host_.start(inputs);
  std::ranges::fill(arena_, NpuMemory::fresh_byte);
  require(order_seed == 0 ? simulator_->run(arena_, host_)
                          : simulator_->run_in_random_order(arena_, host_, order_seed));
  std::vector<Tensor> out;
  for (std::uint32_t v : program_.outputs) out.push_back(value(v));
  return out;
}

}  // namespace longshore
