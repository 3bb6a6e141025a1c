#include "engine.hpp"

#include "base/error.hpp"
#include "base/file.hpp"
#include "lower/cpu.hpp"
#include "measure/runner.hpp"
#include "optimize/optimize.hpp"
#include "program/bundle.hpp"
#include "quantize/import.hpp"

namespace longshore {
namespace {

/// The dims that the inputs really have.
Graph specialised(const Graph& g, const std::vector<Tensor>& inputs) {
  InferOptions options;
  for (std::size_t i = 0; i < inputs.size(); i++) {
    const Value& v = g[g.inputs[i]];
    if (inputs[i].dtype != v.type.dtype)
      fail(Code::bad_argument, "input '", v.name, "' is ", print(v.type), ", found ",
           print(TensorType(inputs[i].dtype, inputs[i].shape)));
    options.input_shapes[v.name] = inputs[i].shape;
  }
  return infer(g, options);
}

/// Unknown dims are 1.
Tensor zeros(const TensorType& type) {
  Shape shape;
  for (const Dim& d : type.dims) shape.push(d.known() ? d.value : 1);
  return {type.dtype, shape,
          make_blob(std::vector<std::byte>(static_cast<std::size_t>(shape.elements()) *
                                           size_bytes(type.dtype)))};
}

}  // namespace

void add_engine_options(CLI::App& app, EngineOptions& o) {
  add_model_options(app, o.model);
  app.add_option("--precision", o.precision, "float32, bf16 or int8; as the file has it")
      ->check(CLI::IsMember({"float32", "bf16", "int8"}));
  app.add_option("--threads", o.threads, "As many as the process may use")
      ->check(CLI::Range(1, 256));
  add_calibrate_options(app, o.calibrate);
}

ModelEngine::ModelEngine(const EngineOptions& o) {
  if (o.precision == "bf16")
    fail(
        Code::unsupported,
        "--precision bf16: there are no bf16 kernels for this CPU yet; float32 and int8 are there");
  ReadResult model = load_model(o.model, o.inputs);
  for (const auto& [name, tensor] : o.given) model.defaults[name] = tensor;
  for (const std::string& name : o.zero)
    for (ValueId v : model.graph.inputs)
      if (model.graph[v].name == name) model.defaults.try_emplace(name, zeros(model.graph[v].type));
  inputs_ = make_inputs(model, o.inputs);
  graph_ = model.graph;
  try {
    load(o);
  } catch (const Error& e) {
    fail(e.code(), o.model.path, ": ", e.what());
  }
  for (const Tensor& t : inputs_) views_.push_back(t.view());
}

void ModelEngine::load(const EngineOptions& o) {
  Result<SharedBlob> file = read_file(o.model.path);
  require(file.status());
  const bool bundle = is_bundle((*file)->bytes());
  std::optional<Program> program;
  if (bundle && o.on != "reference") {
    Result<Bundle> opened = Bundle::open(*file);
    require(opened.status());
    Result<Program> decoded = opened->program();
    require(decoded.status());
    const bool npu = decoded->machine.present;
    if (o.on == "sim" && !npu)
      fail(Code::bad_argument,
           "--on sim: the bundle is for the CPU; build it with --target of an NPU");
    const bool as_built = o.model.dims.empty() && o.model.input_values.empty();
    if (npu && o.on != "cpu" && !as_built)
      fail(Code::bad_argument, "--dim and --input-value were fixed when the bundle was built");
    // The CPU runs an NPU's bundle from its graph.
    if (as_built && (o.on == "cpu" ? !npu : true)) program = std::move(*decoded);
  } else if (o.on == "sim") {
    fail(Code::bad_argument, "--on sim needs a bundle made by build for an NPU; this is a model");
  }
  where_ = o.on == "reference" ? "reference" : program && program->machine.present ? "sim" : "cpu";
  precision_ = "float32";
  if (!bundle) graph_ = import_quantised(graph_);
  for (const Value& v : graph_.values)
    if (v.type.quantised()) precision_ = "int8";
  if (o.precision == "float32" && precision_ == "int8")
    fail(Code::unsupported,
         "--precision float32: the file holds a quantised model, not its float form");
  const bool quantise = o.precision == "int8" && precision_ != "int8";
  if (bundle && quantise)
    fail(Code::unsupported, "--precision int8: the bundle was built in float32");
  bool open = false;
  for (ValueId v : graph_.inputs) open |= !graph_[v].type.shape().has_value();
  if (!program || open) {
    program.reset();
    graph_ = specialised(graph_, inputs_);
    if (quantise) {
      CalibrateOptions calibrate = o.calibrate;
      calibrate.threads = o.threads;
      graph_ = quantise_model(optimize(graph_), calibrate, o.inputs.image);
      precision_ = "int8";
    } else if (where_ == "cpu" && !bundle) {
      graph_ = optimize(graph_);
    }
  }
  if (where_ == "reference") return;
  threads_ = o.threads > 0 ? o.threads : usable_cores();
  start(program ? std::move(*program) : lower::lower_cpu(graph_));
}

void ModelEngine::start(Program program) {
  LoadOptions options;
  options.operators = operator_table();
  Result<Model> loaded = Model::load(std::move(program), options);
  require(loaded.status());
  Result<Context> context = Context::create(*loaded, threads_);
  require(context.status());
  context_.emplace(std::move(*context));
}

std::vector<std::string> ModelEngine::input_names() const {
  std::vector<std::string> names;
  for (ValueId v : graph_.inputs) names.push_back(graph_[v].name);
  return names;
}

std::vector<std::string> ModelEngine::output_names() const {
  std::vector<std::string> names;
  for (ValueId v : graph_.outputs) names.push_back(graph_[v].name);
  return names;
}

void ModelEngine::set_input(std::size_t i, Tensor tensor) {
  if (tensor.dtype != inputs_[i].dtype || !(tensor.shape == inputs_[i].shape))
    fail(Code::bad_argument, "input '", input_names()[i], "' changes from ",
         print(TensorType(inputs_[i].dtype, inputs_[i].shape)), " to ",
         print(TensorType(tensor.dtype, tensor.shape)), " between runs");
  inputs_[i] = std::move(tensor);
  views_[i] = inputs_[i].view();
}

void ModelEngine::run() {
  if (context_)
    require(context_->run(views_));
  else
    reference_ = evaluate(graph_, inputs_);
}

std::vector<Tensor> ModelEngine::outputs() const {
  if (!context_) return reference_;
  std::vector<Tensor> out;
  for (std::size_t i = 0; i < context_->output_count(); i++)
    out.push_back(copy_tensor(context_->output(i)));
  return out;
}

}  // namespace longshore
