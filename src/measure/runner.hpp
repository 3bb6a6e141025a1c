#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "ir/op.hpp"
#include "run/context.hpp"

namespace longshore {

/// The operators' own kernels as Model::load wants them.
std::span<const Operator> operator_table();

/// A graph with unknown dims, made ready for given ones: infers anew, applies `prepare` (say, the
/// optimiser; null: nothing) and lowers for the CPU. Exceptions become a Status.
Specialise specialiser(Graph, std::function<Graph(const Graph&)> prepare = nullptr);

struct RunnerOptions {
  int threads = 1;
  bool fast_kernels = true;
  std::optional<cpu::Isa> isa;  // the best that may be used
  /// Called with every value as it is computed, in the ids of the given graph (inputs and
  /// constants excluded), as EvaluateOptions::observe.
  std::function<void(ValueId, const TensorView&)> observe;
};

/// Runs a graph natively on this CPU: `evaluate` with fast kernels and planned memory.
class Runner {
 public:
  explicit Runner(Graph, RunnerOptions = {});
  Runner(Runner&&) noexcept;
  Runner& operator=(Runner&&) noexcept;
  ~Runner();

  /// Throws on a wrong input, or when an operator reports an error.
  std::vector<Tensor> run(std::span<const Tensor> inputs);
  /// The kernel of each step, for tests and reports.
  std::vector<std::string> kernels() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace longshore
