#include <iostream>
#include <limits>
#include <memory>

#include "base/error.hpp"
#include "calibrate.hpp"
#include "command.hpp"
#include "compare_inject.hpp"
#include "compare_report.hpp"
#include "compile/bundle_file.hpp"
#include "measure/dataset.hpp"
#include "measure/runner.hpp"
#include "model_options.hpp"
#include "command_line.hpp"
#include "progress.hpp"

namespace longshore::commands {
namespace {

struct Options {
  ModelOptions model;
  InputOptions inputs;
  CalibrateOptions calibrate;
  std::string on = "auto", data, feed = "single";
  std::size_t limit = 0;
  std::optional<std::uint64_t> inject;
  bool json = false, all = false;
};

/// Where the samples come from that both sides run on.
struct Samples {
  std::size_t count = 0;
  std::function<std::vector<Tensor>(std::size_t)> get;
  std::string_view kind;  // data, input, calibration or random
};

constexpr std::size_t random_samples = 3, data_samples = 10;

/// Sample i of `count` that are spread evenly over `all`; from `count` on others, as far as there
/// are.
std::size_t spread(std::size_t i, std::size_t count, std::size_t all) {
  return (i % count * all / count + i / count) % all;
}

/// Random inputs that differ in magnitude: small ones reach the middle of the codes, large ones
/// their ends.
Tensor scaled(const Tensor& t, float factor) {
  if (t.dtype != DType::f32 || factor == 1) return t;
  std::vector<float> out(t.values<float>().begin(), t.values<float>().end());
  for (float& x : out) x *= factor;
  return make_floats(t.shape, out);
}

/// `calibration`: what was calibrated on, if anything; it stands in for --data and --input.
Samples samples_for(const Options& o, const ReadResult& model,
                    const compile::Samples* calibration = nullptr) {
  if (!o.data.empty()) {
    if (model.graph.inputs.size() != 1)
      fail(Code::bad_argument, "--data needs a model with one input, ", o.model.path, " has ",
           model.graph.inputs.size());
    DatasetRequest request;
    request.input = model.graph[model.graph.inputs[0]].type;
    request.read_file = [image = pictures_for(model, o.inputs.image)](const std::string& file,
                                                                      const TensorType& type) {
      return read_input(file, type, image);
    };
    const Dataset data = open_dataset(o.data, request);
    const std::size_t count = std::min(o.limit > 0 ? o.limit : data_samples, data.count);
    const TensorType input = model.graph[model.graph.inputs[0]].type;
    return {count,
            [=](std::size_t i) {
              return std::vector<Tensor>{data.input(spread(i, count, data.count), input)};
            },
            "data"};
  }
  if (!o.inputs.inputs.empty()) {
    return {1, [one = make_inputs(model, o.inputs)](std::size_t) { return one; }, "input"};
  }
  if (calibration && calibration->count > 0) {
    const std::size_t all = calibration->count,
                      count = std::min(o.limit > 0 ? o.limit : data_samples, all);
    return {count,
            [=, get = calibration->get](std::size_t i) { return get(spread(i, count, all)); },
            "calibration"};
  }
  return {o.limit > 0 ? o.limit : random_samples,
          [graph = model.graph, seed = o.inputs.seed](std::size_t i) {
            static constexpr float factors[] = {1, 4, 0.25f, 16};
            std::vector<Tensor> out;
            for (std::size_t k = 0; k < graph.inputs.size(); k++)
              out.push_back(scaled(compile::random_input(graph[graph.inputs[k]].type,
                                                         seed + i * graph.inputs.size() + k),
                                   factors[i % std::size(factors)]));
            return out;
          },
          "random"};
}

int finish(const Options& o, const CompareReport& report) {
  Progress::clear();
  if (o.json) {
    Json j = to_json(report, o.all);
    j["warnings"] = warnings();
    print_json(j);
  } else {
    show(std::cout, report, o.all ? std::numeric_limits<std::size_t>::max() : 20);
  }
  return report.ok() ? exit_code::yes : exit_code::no;
}

/// The CPU's kernels against the reference, node by node or as a whole.
int compare_cpu(const Options& o, const ReadResult& model, const Graph& graph,
                const compile::Samples* calibration = nullptr) {
  const Samples samples = samples_for(o, model, calibration);
  const bool single = o.feed == "single";
  Comparison comparison(graph, single ? Strictness::op_bounds : Strictness::outputs);
  Progress progress("comparing");
  Values values;
  std::optional<Runner> whole;
  if (!single) {
    RunnerOptions options;
    options.observe = [&](ValueId v, const TensorView& view) {
      values[graph[v].name] = copy_tensor(view);
    };
    whole.emplace(graph, options);
  }
  for (std::size_t i = 0; i < samples.count; i++) {
    const std::vector<Tensor> in = samples.get(i);
    if (single) {
      comparison.add_single(
          in, [](const Graph& node, std::span<const Tensor> x) { return Runner(node).run(x); });
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
  report.sample_kind = samples.kind;
  report.layers = comparison.layers();
  report.missing = comparison.missing();
  return finish(o, report);
}

/// Codes against float: where quantisation loses what.
int compare_codes(const Options& o, const ReadResult& model, const compile::Compiled& c,
                  const compile::Samples* calibration) {
  const Samples samples = samples_for(o, model, calibration);
  CompareReport report;
  report.file = o.model.path;
  report.got = o.calibrate.precision.empty() ? "int8" : o.calibrate.precision;
  report.want = "float";
  report.exact = false;
  report.samples = samples.count;
  report.sample_kind = samples.kind;
  std::vector<std::vector<Tensor>> in;
  for (std::size_t i = 0; i < samples.count; i++) in.push_back(samples.get(i));
  report.layers = compare_precision(c.optimised, c.graph, in);
  return finish(o, report);
}

int report_injected(const Options& o, const InjectReport& r) {
  const bool good =
      r.verdict == "dead" || r.verdict == "timing-only" || r.verdict == "refused by the verifier";
  if (o.json) {
    Json j = to_json(r.comparison, o.all);
    j["file"] = o.model.path;
    j["injected"] = {{"seed", *o.inject},
                     {"instruction", r.instruction()},
                     {"operation", r.operation()},
                     {"operand", r.change.field},
                     {"before", r.change.before},
                     {"after", r.change.after},
                     {"layers", r.layers},
                     {"verdict", r.verdict},
                     {"why", r.why},
                     {"readers", r.readers},
                     {"other_weights", r.other_weights}};
    j["warnings"] = warnings();
    print_json(j);
  } else {
    std::cout << r.change.text << (r.layers.empty() ? "" : " (layer '" + r.layers.front() + "')")
              << "\n"
              << r.verdict << ": " << r.why << "\n";
  }
  return good ? exit_code::yes : exit_code::no;
}

/// A bundle with an NPU program: the simulator against the reference.
int compare_sim(const Options& o, const ReadResult& model) {
  const ComparedBundle bundle = open_compared(o.model.path);
  if (!bundle.tapped)
    fail(Code::bad_argument, o.model.path,
         ": it was built for the CPU alone; --on cpu compares that");
  const Samples samples = samples_for(o, model);
  if (!o.inject) {
    CompareReport report = compare_simulator(bundle, samples.count, samples.get);
    report.sample_kind = samples.kind;
    return finish(o, report);
  }
  InjectReport report = compare_injected(bundle, *o.inject, samples.count, samples.get);
  report.comparison.sample_kind = samples.kind;
  return report_injected(o, report);
}

int run(const Options& o) {
  const ReadResult model = load_model(o.model, o.inputs);
  const std::optional<compile::BundleFile> bundle = compile::open_bundle(o.model.path);
  if (!bundle && o.on == "sim")
    fail(Code::bad_argument, "--on sim needs a bundle made by build, ", o.model.path,
         " is a model");
  if (!bundle && o.inject)
    fail(Code::bad_argument, "--inject needs a bundle made by build, ", o.model.path,
         " is a model");
  if (bundle && !o.calibrate.sources.empty())
    fail(Code::bad_argument, "--calibrate is for models; ", o.model.path,
         " is a bundle and quantised as it is");
  if (bundle && !o.calibrate.precision.empty())
    fail(Code::bad_argument, "--precision is for models; ", o.model.path,
         " is a bundle and quantised as it is");
  if (bundle && o.on != "cpu" &&
      (o.on == "sim" || o.inject || !bundle->bundle.section(Section::target).empty()))
    return compare_sim(o, model);
  if (bundle) return compare_cpu(o, model, model.graph);
  compile::Options options;
  options.source.path = o.model.path;
  options.model = model;
  options.last = compile::Stage::quantise;
  set_calibration(options, o.calibrate, o.inputs.image, 0);
  const compile::Compiled c = compile_shown(options);
  warn_of_unused(o.calibrate, c);
  std::optional<compile::Samples> calibration;
  if (options.samples && c.quantised_here) calibration = options.samples(c.optimised);
  const compile::Samples* samples = calibration ? &*calibration : nullptr;
  if (c.quantised_here && o.on == "auto") return compare_codes(o, model, c, samples);
  return compare_cpu(o, model, c.graph, samples);
}

std::function<int()> setup(CommandLine& app) {
  const auto o = std::make_shared<Options>();
  add_model_options(app, o->model);
  add_input_options(app, o->inputs);
  app.add_option(
      "--data", o->data,
      "Samples: fashion-mnist, cifar10:FILE, cifar10x3:FILE, f32:FILE, or a folder of pictures or "
      "class/picture; else --input, else those of --calibrate, else random");
  app.add_option("--limit", o->limit,
                 "Samples that are compared, spread evenly; 10 of data, 3 random ones")
      .positive();
  app.add_option("--on", o->on,
                 "What is held against the reference: sim or cpu; auto: sim for bundles of an NPU, "
                 "codes against float with --calibrate or --precision, else cpu")
      .one_of({"auto", "sim", "cpu"});
  app.add_option("--feed", o->feed,
                 "With --on cpu: single (each node gets the reference's inputs) or entire")
      .one_of({"single", "entire"});
  app.add_option(
      "--inject", o->inject,
      "Changes one operand of one instruction, drawn by this seed, and says what becomes of it");
  app.add_flag("--all", o->all, "Lists every layer");
  app.add_flag("--json", o->json, "One JSON object on one line");
  add_precision_option(app, o->calibrate);
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
