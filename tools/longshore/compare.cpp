#include <iostream>
#include <limits>
#include <memory>

#include "base/error.hpp"
#include "calibrate.hpp"
#include "command.hpp"
#include "compare_report.hpp"
#include "measure/dataset.hpp"
#include "measure/runner.hpp"
#include "model_options.hpp"
#include "optimize/optimize.hpp"
#include "progress.hpp"
#include "quantize/import.hpp"

namespace longshore::commands {
namespace {

struct Options {
  ModelOptions model;
  InputOptions inputs;
  CalibrateOptions calibrate;
  std::string on, data, feed = "single";
  std::size_t limit = 0;
  bool json = false, all = false;
};

/// Where the samples come from that both sides run on.
struct Samples {
  std::size_t count = 0;
  std::function<std::vector<Tensor>(std::size_t)> get;
};

constexpr std::size_t random_samples = 3;

Samples samples_for(const Options& o, const ReadResult& model) {
  if (!o.data.empty()) {
    if (model.graph.inputs.size() != 1)
      fail(Code::bad_argument, "--data needs a model with one input, ", o.model.path, " has ", model.graph.inputs.size());
    DatasetRequest request;
    request.read_file = [image = o.inputs.image](const std::string& file, const TensorType& type) { return read_input(file, type, image); };
    const Dataset data = open_dataset(o.data, request);
    const std::size_t count = o.limit > 0 ? std::min(o.limit, data.count) : std::min<std::size_t>(data.count, 10);
    const TensorType input = model.graph[model.graph.inputs[0]].type;
    return {count, [=](std::size_t i) { return std::vector<Tensor>{data.input(i * data.count / count, input)}; }};
  }
  if (!o.inputs.inputs.empty()) {
    const std::vector<Tensor> one = make_inputs(model, o.inputs);
    return {1, [one](std::size_t) { return one; }};
  }
  return {o.limit > 0 ? o.limit : random_samples, [graph = model.graph, seed = o.inputs.seed](std::size_t i) {
            std::vector<Tensor> out;
            for (std::size_t k = 0; k < graph.inputs.size(); k++)
              out.push_back(random_input(graph[graph.inputs[k]].type, seed + i * graph.inputs.size() + k));
            return out;
          }};
}

int finish(const Options& o, const CompareReport& report) {
  if (o.json) std::cout << to_json(report, o.all).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
  else show(std::cout, report, o.all ? std::numeric_limits<std::size_t>::max() : 20);
  return report.ok() || !report.exact ? exit_code::yes : exit_code::no;
}

/// The CPU's kernels against the reference, node by node or as a whole.
int compare_cpu(const Options& o, const ReadResult& model, const Graph& graph) {
  const Samples samples = samples_for(o, model);
  const bool single = o.feed == "single";
  Comparison comparison(graph, single ? Strictness::op_bounds : Strictness::outputs);
  Progress progress("comparing");
  Values values;
  std::optional<Runner> whole;
  if (!single) {
    RunnerOptions options;
    options.observe = [&](ValueId v, const TensorView& view) { values[graph[v].name] = copy_tensor(view); };
    whole.emplace(graph, options);
  }
  for (std::size_t i = 0; i < samples.count; i++) {
    const std::vector<Tensor> in = samples.get(i);
    if (single) {
      comparison.add_single(in, [](const Graph& node, std::span<const Tensor> x) { return Runner(node).run(x); });
    } else {
      values.clear();
      whole->run(in);
      comparison.add_entire(in, values);
    }
    progress.update(i + 1, samples.count);
  }
  CompareReport report;
  report.file = o.model.path;
  report.got = single ? "CPU kernels, each fed by the reference," : "the CPU";
  report.want = "the reference";
  report.samples = samples.count;
  report.layers = comparison.layers();
  report.missing = comparison.missing();
  return finish(o, report);
}

/// int8 against float: where quantisation loses what.
int compare_int8(const Options& o, const ReadResult& model, const Graph& plain) {
  const Graph quantised = quantise_model(plain, o.calibrate, o.inputs.image);
  const Samples samples = samples_for(o, model);
  CompareReport report;
  report.file = o.model.path;
  report.got = "int8";
  report.want = "float";
  report.exact = false;
  report.samples = samples.count;
  std::vector<std::vector<Tensor>> in;
  for (std::size_t i = 0; i < samples.count; i++) in.push_back(samples.get(i));
  report.layers = compare_precision(plain, quantised, in);
  return finish(o, report);
}

int run(const Options& o) {
  const ReadResult model = load_model(o.model, o.inputs);
  if (o.on == "sim") fail(Code::bad_argument, "--on sim needs a bundle made by build, ", o.model.path, " is a model");
  const Graph plain = optimize(import_quantised(model.graph));
  if (!o.calibrate.sources.empty() && o.on.empty()) return compare_int8(o, model, plain);
  if (o.calibrate.sources.empty()) return compare_cpu(o, model, plain);
  return compare_cpu(o, model, quantise_model(plain, o.calibrate, o.inputs.image));
}

std::function<int()> setup(CLI::App& app) {
  const auto o = std::make_shared<Options>();
  add_model_options(app, o->model);
  add_input_options(app, o->inputs);
  app.add_option("--data", o->data, "Samples: fashion-mnist, cifar10:FILE, or a folder class/picture; else --input, else random");
  app.add_option("--limit", o->limit, "Samples that are compared, spread evenly; 10 of a data set, 3 random ones")->check(CLI::PositiveNumber);
  app.add_option("--on", o->on, "What is held against the reference: sim (bundles; the default there) or cpu")
      ->check(CLI::IsMember({"sim", "cpu"}));
  app.add_option("--feed", o->feed, "With --on cpu: single (each node gets the reference's inputs) or entire")
      ->check(CLI::IsMember({"single", "entire"}));
  app.add_flag("--all", o->all, "Lists every layer");
  app.add_flag("--json", o->json, "One JSON object on one line");
  add_calibrate_options(app, o->calibrate);
  return [o] { return run(*o); };
}

}  // namespace

extern constinit const Command command_compare = {
    .name = "compare",
    .doc = "Compares layer by layer: simulator or CPU with the reference, int8 with float",
    .setup = setup,
};

}  // namespace longshore::commands
