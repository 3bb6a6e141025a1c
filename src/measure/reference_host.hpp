#pragma once
#include <memory>
#include <span>
#include <vector>

#include "ir/op.hpp"
#include "measure/compare.hpp"
#include "sim/simulate.hpp"

namespace longshore {

/// Runs the CPU's steps of a compiled graph with the reference kernels: the simulator's other half
/// in a comparison. Program::values[i] stands for graph.values[i]; the program may have more.
class ReferenceHost final : public Host {
 public:
  /// Both must outlive it. Throws where the program does not fit the graph.
  ReferenceHost(const Program&, const Graph&);
  ReferenceHost(const ReferenceHost&) = delete;
  ReferenceHost& operator=(const ReferenceHost&) = delete;

  /// A new inference begins with these inputs.
  void start(std::span<const Tensor> inputs);
  Status run_step(const Step&, std::size_t index, std::span<std::byte> arena) noexcept override;

  /// The value as the CPU sees it now. Throws where it has no bytes.
  Tensor value(std::uint32_t index, std::span<const std::byte> arena) const;
  /// What steps computed since `start`, by the graph's names.
  const Values& computed() const { return computed_; }

 private:
  struct Work {
    Graph node;                         // the step's node alone
    std::vector<std::uint32_t> inputs;  // of the program, for the inputs of `node`
  };
  void prepare(std::size_t step);
  void run(const Step&, const Work*, std::span<std::byte> arena);

  const Program& program_;
  const Graph& graph_;
  std::vector<std::unique_ptr<Work>> work_;  // by step
  std::vector<Tensor> held_;                 // by value: inputs and dynamic values
  Values computed_;
};

}  // namespace longshore
