#include "measure/runner.hpp"

#include <new>

#include "base/error.hpp"
#include "lower/cpu.hpp"

namespace longshore {

std::span<const Operator> operator_table() {
  static const std::vector<Operator> table = [] {
    std::vector<Operator> rows;
    for (const OpDef* op : ops::all())
      if (op->eval)
        rows.push_back({op->domain, op->name, op->scratch, op->eval, op->eval_quantised,
                        &op->schema, op->quant == Quant::table,
                        op->quant == Quant::table && !op->steep});
    return rows;
  }();
  return table;
}

Specialise specialiser(Graph graph, std::function<Graph(const Graph&)> prepare) {
  return [graph = std::make_shared<const Graph>(std::move(graph)),
          prepare = std::move(prepare)](std::span<const Shape> dims) -> Result<Program> {
    try {
      InferOptions options;
      for (std::size_t i = 0; i < graph->inputs.size() && i < dims.size(); i++)
        options.input_shapes[(*graph)[graph->inputs[i]].name] = dims[i];
      Graph special = infer(*graph, options);
      if (prepare) special = prepare(special);
      return lower::lower_cpu(special);
    } catch (const Error& e) {
      return Status::error(e.code(), "%s", e.what());
    } catch (const std::bad_alloc&) {
      return Status::error(Code::exhausted, "out of memory while specialising the graph");
    }
  };
}

struct Runner::State {
  std::size_t graph_values = 0;
  std::function<void(ValueId, const TensorView&)> observe;
  std::optional<Model> model;
  std::optional<Context> context;

  static void done(void* self, const Program& program, std::uint32_t step,
                   std::span<const TensorView> values, double) {
    const auto& state = *static_cast<const State*>(self);
    for (std::uint32_t v : program.steps[step].outputs)
      if (v != no_index && v < state.graph_values) state.observe(ValueId(v), values[v]);
  }
};

Runner::Runner(Graph graph, RunnerOptions options) : state_(std::make_unique<State>()) {
  state_->graph_values = graph.values.size();
  state_->observe = std::move(options.observe);
  Program program = lower::lower_cpu(graph);
  LoadOptions load;
  load.operators = operator_table();
  load.fast_kernels = options.fast_kernels;
  load.limit_isa = options.isa.has_value();
  load.isa = options.isa.value_or(cpu::Isa::generic);
  load.specialise = specialiser(std::move(graph));
  Result<Model> model = Model::load(std::move(program), load);
  require(model.status());
  Result<Context> context = Context::create(*model, options.threads);
  require(context.status());
  state_->model = *model;
  state_->context.emplace(std::move(*context));
  if (state_->observe) state_->context->observe({state_.get(), State::done});
}
Runner::Runner(Runner&&) noexcept = default;
Runner& Runner::operator=(Runner&&) noexcept = default;
Runner::~Runner() = default;

std::vector<Tensor> Runner::run(std::span<const Tensor> inputs) {
  std::vector<TensorView> views;
  for (const Tensor& t : inputs) views.push_back(t.view());
  Context& context = *state_->context;
  require(context.run(views));
  std::vector<Tensor> out;
  for (std::size_t i = 0; i < context.output_count(); i++)
    out.push_back(copy_tensor(context.output(i)));
  return out;
}

std::vector<std::string> Runner::kernels() const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < state_->model->program().steps.size(); i++)
    names.emplace_back(state_->model->kernel_name(i));
  return names;
}

}  // namespace longshore
