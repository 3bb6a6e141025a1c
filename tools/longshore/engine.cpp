#include "engine.hpp"

#include "base/error.hpp"
#include "command_line.hpp"
#include "saturated.hpp"

namespace longshore {
namespace {

/// The dims that the inputs really have.
std::map<std::string, Shape> shapes_of(const Graph& g, const std::vector<Tensor>& inputs) {
  std::map<std::string, Shape> out;
  for (std::size_t i = 0; i < inputs.size(); i++) {
    const Value& v = g[g.inputs[i]];
    if (inputs[i].dtype != v.type.dtype)
      fail(Code::bad_argument, "input '", v.name, "' is ", print(v.type), ", found ",
           print(TensorType(inputs[i].dtype, inputs[i].shape)));
    out[v.name] = inputs[i].shape;
  }
  return out;
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

void add_on_option(CommandLine& app, std::string& on) {
  app.add_option("--on", on,
                 "auto, cpu, reference, or sim (bundles for an NPU); auto: sim where it can")
      .one_of({"auto", "cpu", "reference", "sim"});
}

void add_engine_options(CommandLine& app, EngineOptions& o) {
  add_model_options(app, o.model);
  app.add_option("--precision", o.precision, "float32, int8, int16 or int16x16; as the file has it")
      .one_of({"float32", "int8", "int16", "int16x16"});
  app.add_option("--threads", o.threads, "As many as the process may use").range(1, 256);
  add_on_option(app, o.on);
  add_calibrate_options(app, o.calibrate);
}

ModelEngine::ModelEngine(const EngineOptions& o) : path_(o.model.path) {
  ReadResult model = load_model(o.model, o.inputs);
  for (const auto& [name, tensor] : o.given) model.defaults[name] = tensor;
  for (const std::string& name : o.zero)
    for (ValueId v : model.graph.inputs)
      if (model.graph[v].name == name) model.defaults.try_emplace(name, zeros(model.graph[v].type));
  inputs_ = make_inputs(model, o.inputs);
  with_file(path_, [&] { load(o, model); });
  for (std::size_t i = 0; i < inputs_.size() && !o.inputs.inputs.empty(); i++)
    warn_of_saturated(graph_, graph_.inputs[i], std::span(&inputs_[i], 1));
  for (const Tensor& t : inputs_) views_.push_back(t.view());
}

std::optional<Program> ModelEngine::shipped(const EngineOptions& o,
                                            std::optional<compile::BundleFile> bundle) {
  if (!bundle) {
    if (o.on == "sim")
      fail(Code::bad_argument, path_,
           ": --on sim needs a bundle made by build for an NPU; this is a model");
    return {};
  }
  const bool npu = bundle->program.machine.present;
  target_ = npu ? bundle->program.machine.name : "cpu";
  if (o.on == "reference") return {};
  if (o.on == "sim" && !npu)
    fail(Code::bad_argument, path_,
         ": --on sim: the bundle is for the CPU; build it with --target of an NPU");
  const bool as_built =
      o.model.dims.empty() && o.model.shapes.empty() && o.model.input_values.empty();
  if (npu && o.on != "cpu" && !as_built)
    fail(Code::bad_argument, path_,
         ": --dim, --shape and --input-value were fixed when the bundle was built");
  // The CPU runs an NPU's bundle from its graph.
  if (!as_built || (npu && o.on == "cpu")) return {};
  return std::move(bundle->program);
}

void ModelEngine::load(const EngineOptions& o, const ReadResult& model) {
  std::optional<compile::BundleFile> opened = compile::open_bundle(path_);
  const bool bundle = opened.has_value();
  if (bundle && !o.calibrate.sources.empty())
    fail(Code::bad_argument, "--calibrate is for models; ", path_,
         " is a bundle and quantised as it is");
  std::optional<Program> program = shipped(o, std::move(opened));
  where_ = o.on == "reference" ? "reference" : program && program->machine.present ? "sim" : "cpu";

  compile::Options options;
  options.source.path = path_;
  options.model = model;
  options.last = compile::Stage::import;
  if (bundle) options.first = compile::Stage::place;  // its graph is as it shall be
  const Graph imported = compile_shown(options).imported;
  const bool came_quantised = compile::quantised(imported);
  const std::string_view came = compile::precision_name(imported);
  if (o.precision == "float32" && came_quantised)
    fail(Code::unsupported, path_,
         ": --precision float32: the file holds a quantised model, not its float form");
  const bool asked = !o.precision.empty() && o.precision != "float32";
  if (asked && came_quantised && o.precision != came)
    fail(Code::unsupported, path_, ": --precision ", o.precision, ": the file came quantised to ",
         came);
  const bool quantise = asked && !came_quantised;
  if (bundle && quantise)
    fail(Code::unsupported, path_, ": --precision ", o.precision,
         ": the bundle was built in float32");
  precision_ = quantise ? o.precision : came;

  graph_ = model.graph;
  if (!program || !compile::open_dims(model.graph).empty()) {
    program.reset();
    options.model->graph = compile::with_shapes(model.graph, shapes_of(model.graph, inputs_));
    const bool plain = where_ == "reference" && !quantise;  // the operators as they stand
    options.last = plain                   ? compile::Stage::import
                   : where_ == "reference" ? compile::Stage::quantise
                                           : compile::Stage::lower;
    options.quantise = quantise ? compile::Quantise::always : compile::Quantise::never;
    CalibrateOptions calibrate = o.calibrate;
    if (quantise) calibrate.precision = o.precision;
    set_calibration(options, calibrate, o.inputs.image, o.threads);
    compile::Compiled compiled = compile_shown(options);
    warn_of_unused(o.calibrate, compiled);
    graph_ = std::move(compiled.graph);
    if (where_ != "reference") program = std::move(compiled.program);
  } else if (program && !program->machine.present) {
    for (const Step& step : program->steps) host_us_ += step.cost_us;
  }
  if (where_ == "reference") return;
  threads_ = o.threads > 0 ? o.threads : usable_cores();
  start(std::move(*program));
}

void ModelEngine::start(Program program) {
  const Model loaded = compile::load(std::move(program), path_);
  Result<Context> context = Context::create(loaded, threads_);
  require(context.status(), path_);
  context_.emplace(std::move(*context));
}

std::string ModelEngine::clock() const {
  if (where_ == "sim") return "simulator of " + target_ + ", timed on this machine";
  return where_ == "reference" ? "reference kernels on this CPU, measured" : "this CPU, measured";
}

std::optional<double> ModelEngine::predicted_ms() const {
  if (const Timing* t = timing()) return t->total_ns / 1e6;
  if (host_us_ > 0) return host_us_ / 1e3;
  return {};
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
    require(context_->run(views_), path_);
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
