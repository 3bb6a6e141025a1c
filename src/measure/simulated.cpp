#include "measure/simulated.hpp"

#include <cstring>

#include "base/error.hpp"

namespace longshore {
namespace {

class EvalHost final : public Host {
 public:
  EvalHost(const Graph& g, const Program& p, std::span<const Tensor> inputs) : g_(g), p_(p), values_(p.values.size()) {
    for (std::size_t i = 0; i < p.inputs.size(); i++) values_[p.inputs[i]] = inputs[i];
  }

  Status run_step(const Step& step, std::size_t, std::span<std::byte> arena) noexcept override {
    try {
      std::vector<Tensor> in;
      for (std::uint32_t v : step.inputs) in.push_back(v == no_index ? Tensor{} : value(v, arena));
      // What lowering added by itself copies a graph input into the arena.
      std::vector<Tensor> out = step.layer == no_index ? in : evaluate_node(g_, g_.nodes[step.layer], in);
      for (std::size_t i = 0; i < step.outputs.size(); i++)
        if (step.outputs[i] != no_index) store(step.outputs[i], out[i], arena);
      return {};
    } catch (const Error& e) {
      return Status::error(e.code(), "%s", e.what());
    } catch (const std::exception& e) {
      return Status::error(Code::exhausted, "%s", e.what());
    }
  }

  Tensor value(std::uint32_t v, std::span<const std::byte> arena) const {
    const ProgramValue& from = p_.values[v];
    if (from.storage == Storage::view) {
      Tensor t = value(from.view_of, arena);
      t.shape = from.shape;
      return t;
    }
    if (from.storage == Storage::input || from.storage == Storage::dynamic) return values_[v];
    TensorView view{from.dtype, from.shape, nullptr, {}};
    view.data = (from.storage == Storage::constant ? p_.constants->bytes() : arena).data() + from.offset;
    return copy_tensor(view);
  }

 private:
  void store(std::uint32_t v, const Tensor& t, std::span<std::byte> arena) {
    const ProgramValue& to = p_.values[v];
    if (to.storage == Storage::dynamic) values_[v] = t;
    else if (to.storage == Storage::arena) std::memcpy(arena.data() + to.offset, t.blob->bytes().data(), t.bytes());
  }

  const Graph& g_;
  const Program& p_;
  std::vector<Tensor> values_;  // inputs and dynamic ones
};

}  // namespace

SimulatedGraph::SimulatedGraph(const Graph& g, const Program& p, SimulatorOptions options) : graph_(g), program_(p) {
  Result<Simulator> simulator = Simulator::create(p, options);
  require(simulator.status());
  simulator_.emplace(std::move(*simulator));
  arena_.resize(p.arena_bytes);
}

std::vector<Tensor> SimulatedGraph::run(std::span<const Tensor> inputs, std::uint64_t order_seed) {
  if (inputs.size() != program_.inputs.size()) fail(Code::bad_argument, "expected ", program_.inputs.size(), " inputs, found ", inputs.size());
  EvalHost host(graph_, program_, inputs);
  require(order_seed == 0 ? simulator_->run(arena_, host) : simulator_->run_in_random_order(arena_, host, order_seed));
  std::vector<Tensor> out;
  for (std::uint32_t v : program_.outputs) out.push_back(host.value(v, arena_));
  return out;
}

}  // namespace longshore
