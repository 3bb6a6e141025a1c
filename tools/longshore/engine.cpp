#include "engine.hpp"

#include "base/error.hpp"
#include "lower/cpu.hpp"
#include "measure/runner.hpp"
#include "optimize/optimize.hpp"
#include "quantize/import.hpp"

namespace longshore {
namespace {

/// The dims that the inputs really have.
Graph specialised(const Graph& g, const std::vector<Tensor>& inputs) {
  InferOptions options;
  for (std::size_t i = 0; i < inputs.size(); i++) {
    const Value& v = g[g.inputs[i]];
    if (inputs[i].dtype != v.type.dtype)
      fail(Code::bad_argument, "input '", v.name, "' is ", print(v.type), ", found ", print(TensorType(inputs[i].dtype, inputs[i].shape)));
    options.input_shapes[v.name] = inputs[i].shape;
  }
  return infer(g, options);
}

}  // namespace

void add_engine_options(CLI::App& app, EngineOptions& o) {
  add_model_options(app, o.model);
  app.add_option("--precision", o.precision, "float32, bf16 or int8; as the file has it")
      ->check(CLI::IsMember({"float32", "bf16", "int8"}));
  app.add_option("--threads", o.threads, "As many as the process may use")->check(CLI::Range(1, 256));
  add_calibrate_options(app, o.calibrate);
}

Engine::Engine(const EngineOptions& o) {
  if (o.precision == "bf16")
    fail(Code::unsupported, "--precision bf16: there are no bf16 kernels for this CPU yet; float32 and int8 are there");
  if (o.on == "sim") fail(Code::bad_argument, "--on sim needs a bundle made by build for an NPU, ", o.model.path, " is a model");
  const ReadResult model = load_model(o.model, o.inputs);
  inputs_ = make_inputs(model, o.inputs);
  try {
    graph_ = import_quantised(specialised(model.graph, inputs_));
    where_ = o.on == "reference" ? "reference" : "cpu";
    precision_ = "float32";
    for (const Value& v : graph_.values)
      if (v.type.quantised()) precision_ = "int8";
    if (o.precision == "int8" && precision_ != "int8") {
      CalibrateOptions calibrate = o.calibrate;
      calibrate.threads = o.threads;
      graph_ = quantise_model(optimize(graph_), calibrate, o.inputs.image);
      precision_ = "int8";
    } else if (where_ == "cpu") {
      graph_ = optimize(graph_);
    }
    if (o.precision == "float32" && precision_ == "int8")
      fail(Code::unsupported, "--precision float32: the model is quantised in its file; there is no float32 form of it");
    if (where_ == "reference") return;
    threads_ = o.threads > 0 ? o.threads : usable_cores();
    LoadOptions load;
    load.operators = operator_table();
    Result<Model> loaded = Model::load(lower::lower_cpu(graph_), load);
    require(loaded.status());
    Result<Context> context = Context::create(*loaded, threads_);
    require(context.status());
    context_.emplace(std::move(*context));
  } catch (const Error& e) {
    fail(e.code(), o.model.path, ": ", e.what());
  }
  for (const Tensor& t : inputs_) views_.push_back(t.view());
}

std::vector<std::string> Engine::input_names() const {
  std::vector<std::string> names;
  for (ValueId v : graph_.inputs) names.push_back(graph_[v].name);
  return names;
}

std::vector<std::string> Engine::output_names() const {
  std::vector<std::string> names;
  for (ValueId v : graph_.outputs) names.push_back(graph_[v].name);
  return names;
}

void Engine::run() {
  if (context_) require(context_->run(views_));
  else reference_ = evaluate(graph_, inputs_);
}

std::vector<Tensor> Engine::outputs() const {
  if (!context_) return reference_;
  std::vector<Tensor> out;
  for (std::size_t i = 0; i < context_->output_count(); i++) out.push_back(copy_tensor(context_->output(i)));
  return out;
}

}  // namespace longshore
