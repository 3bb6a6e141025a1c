#include <algorithm>
#include <atomic>
#include <cmath>
#include <iostream>
#include <memory>
#include <mutex>
#include <thread>

#include "base/error.hpp"
#include "calibrate.hpp"
#include "command.hpp"
#include "json.hpp"
#include "measure/dataset.hpp"
#include "measure/runner.hpp"
#include "compile/bundle_file.hpp"
#include "engine.hpp"
#include "model_options.hpp"
#include "progress.hpp"
#include "run/context.hpp"

namespace longshore::commands {
namespace {

struct Options {
  ModelOptions model;
  CalibrateOptions calibrate;
  ImageOptions image;
  std::string data, on = "auto", precision;
  std::size_t limit = 0;
  int threads = 0;
  bool json = false, compare = false, report = false, training = false;
};

/// Runs one sample on one thread's engine.
using Engine = std::function<Tensor(const Tensor&)>;
using MakeEngine = std::function<Engine()>;

MakeEngine engine_for(const Graph& g, const std::string& on) {
  const auto graph = std::make_shared<const Graph>(g);
  if (on == "reference")
    return [graph] {
      return [graph](const Tensor& x) { return evaluate(*graph, std::span(&x, 1)).at(0); };
    };
  return [graph] {
    const auto runner = std::make_shared<Runner>(*graph);
    return [runner](const Tensor& x) { return runner->run(std::span(&x, 1)).at(0); };
  };
}

/// The program of a bundle that was built for an NPU, on the simulator; one context for each
/// thread.
MakeEngine simulator_for(Program program, const std::string& path) {
  const auto model = std::make_shared<const Model>(compile::load(std::move(program), path));
  return [model] {
    Result<Context> created = Context::create(*model, 1);
    require(created.status());
    const auto context = std::make_shared<Context>(std::move(*created));
    return [model, context](const Tensor& x) {
      const TensorView view = x.view();
      require(context->run(std::span(&view, 1)));
      return copy_tensor(context->output(0));
    };
  };
}

/// The class with the largest output; of equal ones the lowest, NaN never.
int answer(const Tensor& t) {
  const auto x = t.values<float>();
  std::size_t best = 0;
  for (std::size_t i = 1; i < x.size(); i++)
    if (x[i] > x[best] || std::isnan(x[best])) best = i;
  return static_cast<int>(best);
}

/// What is counted over the samples. Sums of squares are added in the order of the samples, so that
/// the result does not depend on threads.
struct Sample {
  bool right = false, agrees = true, float_right = false;
  double signal = 0, noise = 0;
};

struct Totals {
  std::size_t right = 0, agrees = 0, float_right = 0;
  double signal = 0, noise = 0;
};

void check_output(const Tensor& t) {
  if (t.dtype != DType::f32 || t.elements() < 2)
    fail(Code::bad_argument, "eval needs a classifier: output 0 is ",
         print(TensorType(t.dtype, t.shape)), ", expected f32 scores of the classes");
}

Totals run_all(const Options& o, const Dataset& data, const std::vector<std::size_t>& picked,
               const TensorType& input, const MakeEngine& engine, const MakeEngine& reference) {
  const std::size_t count = picked.size();
  std::vector<Sample> samples(count);
  std::atomic<std::size_t> next{0};
  std::size_t done = 0;
  std::mutex mutex;
  std::exception_ptr failure;
  Progress progress("evaluating");
  const auto work = [&] {
    try {
      const Engine run = engine(), run_float = reference ? reference() : Engine{};
      for (std::size_t i = next++; i < count; i = next++) {
        const std::size_t at = picked[i];
        const Tensor x = data.input(at, input), y = run(x);
        check_output(y);
        Sample& s = samples[i];
        s.right = answer(y) == data.label(at);
        if (run_float) {
          const Tensor want = run_float(x);
          s.agrees = answer(want) == answer(y);
          s.float_right = answer(want) == data.label(at);
          for (std::size_t k = 0; k < want.values<float>().size(); k++) {
            const double w = want.values<float>()[k], d = w - y.values<float>()[k];
            s.signal += w * w;
            s.noise += d * d;
          }
        }
        const std::lock_guard lock(mutex);
        progress.update(++done, count);
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
      next = count;
    }
  };
  {
    std::vector<std::jthread> others;
    for (int t = 1; t < thread_count(o.threads); t++) others.emplace_back(work);
    work();
  }
  if (failure) std::rethrow_exception(failure);
  Totals out;
  for (const Sample& s : samples) {
    out.right += s.right;
    out.agrees += s.agrees;
    out.float_right += s.float_right;
    out.signal += s.signal;
    out.noise += s.noise;
  }
  return out;
}

double percent(std::size_t part, std::size_t all) {
  return 100.0 * static_cast<double>(part) / static_cast<double>(all);
}

int run(const Options& o) {
  ReadResult model = load_model(o.model);
  if (model.graph.inputs.size() != 1)
    fail(Code::bad_argument, o.model.path, ": eval needs a model with one input, this one has ",
         model.graph.inputs.size());
  std::optional<compile::BundleFile> bundle = compile::open_bundle(o.model.path);
  const bool npu = bundle && bundle->program.machine.present;
  if (o.on == "sim" && !npu)
    fail(Code::bad_argument, "--on sim needs a bundle made by build for an NPU; ", o.model.path,
         bundle ? " is for the CPU" : " is a model");
  if (bundle && !o.calibrate.sources.empty())
    fail(Code::bad_argument, "--calibrate is for models; ", o.model.path,
         " is a bundle and quantised as it is");
  const std::string on = o.on != "auto" ? o.on : npu ? "sim" : "cpu";
  const MakeEngine simulator =
      on == "sim" ? simulator_for(std::move(bundle->program), o.model.path) : MakeEngine{};
  compile::Options options;
  options.source.path = o.model.path;
  options.model = model;
  options.last = compile::Stage::optimise;
  const Graph plain = bundle ? model.graph : compile_shown(options).graph;
  const TensorType input = plain[plain.inputs[0]].type;
  DatasetRequest request;
  request.training = o.training;
  request.read_file = [&](const std::string& file, const TensorType& type) {
    return read_input(file, type, o.image);
  };
  const Dataset data = open_dataset(o.data, request);
  const std::vector<std::size_t> picked =
      pick_samples(data.count, o.limit > 0 ? o.limit : data.count);
  const std::size_t count = picked.size();
  Graph graph = plain;
  QuantizeReport report;
  const bool was_quantised = compile::quantised(plain);
  const std::string_view came = compile::precision_name(plain);
  if (was_quantised && !o.precision.empty() && o.precision != "float32" && o.precision != came)
    fail(Code::unsupported, "--precision ", o.precision, ": ", o.model.path, " came quantised to ",
         came);
  const std::string precision = !o.precision.empty() ? o.precision : std::string(came);
  if (precision == "float32" && was_quantised)
    fail(Code::unsupported, "--precision float32: ", o.model.path,
         " holds a quantised model, not its float form");
  if (was_quantised && o.compare)
    fail(Code::unsupported, "--compare-float: ", o.model.path,
         " holds a quantised model, not its float form");
  const bool quantise = precision != "float32" && !was_quantised;
  if (quantise) {
    const bool has_training_half = o.data.starts_with("fashion-mnist");
    if (o.calibrate.sources.empty() && !has_training_half)
      fail(Code::bad_argument, "--precision ", precision, " needs --calibrate: the data set ",
           o.data, " has no training half to calibrate on");
    if (bundle)
      fail(Code::unsupported, "--precision ", precision, ": the bundle ", o.model.path,
           " was built in float32");
    options.last = compile::Stage::quantise;
    options.quantise = compile::Quantise::always;
    CalibrateOptions calibrate = o.calibrate;
    calibrate.precision = precision;
    set_calibration(options, calibrate, o.image, o.threads, o.data);
    const compile::Compiled c = compile_shown(options);
    graph = c.graph;
    report = c.quantisation;
    if (o.report) std::cerr << print(report);
  } else if (!o.calibrate.sources.empty()) {
    warn(was_quantised ? "--calibrate changes nothing: the model came quantised"
                       : "--calibrate changes nothing without --precision int8, int16 or int16x16");
  }
  const Totals t = run_all(o, data, picked, input, simulator ? simulator : engine_for(graph, on),
                           o.compare ? engine_for(plain, on == "sim" ? "cpu" : on) : MakeEngine{});
  Json j = {{"model", o.model.path},
            {"data", data.name},
            {"samples", count},
            {"metric", "top1_percent"},
            {"value", percent(t.right, count)},
            {"right", t.right},
            {"on", on},
            {"precision", precision}};
  if (quantise) {
    j["calibrator"] = o.calibrate.quantize.calibrator;
    j["calibration_samples"] = report.samples;
    j["integer_nodes"] = report.quantised_nodes;
    j["float_nodes"] = report.float_nodes.size();
  }
  if (o.compare) {
    j["float_value"] = percent(t.float_right, count);
    j["label_agreement_percent"] = percent(t.agrees, count);
    j["output_sqnr_db"] = t.noise > 0 ? Json(10 * std::log10(t.signal / t.noise)) : Json();
  }
  if (o.json) {
    j["warnings"] = warnings();
    print_json(j);
    return exit_code::yes;
  }
  std::cout << o.model.path << " on " << data.name << ", " << precision << " on " << on << ": "
            << t.right << " of " << count << " right, " << percent(t.right, count) << " %\n";
  if (o.compare)
    std::cout << "  float " << percent(t.float_right, count) << " %, same label in "
              << percent(t.agrees, count) << " %, output SQNR "
              << (t.noise > 0 ? str(10 * std::log10(t.signal / t.noise), " dB") : "infinite")
              << "\n";
  return exit_code::yes;
}

std::function<int()> setup(CommandLine& app) {
  const auto o = std::make_shared<Options>();
  add_model_options(app, o->model);
  app.add_option("--data", o->data,
                 "fashion-mnist[:FOLDER], cifar10:FILE, or a folder class/picture")
      .required();
  add_on_option(app, o->on);
  app.add_option("--precision", o->precision,
                 "float32, int8, int16 or int16x16; as the file has it")
      .one_of({"float32", "int8", "int16", "int16x16"});
  app.add_option("--limit", o->limit, "Samples that are used, always the same ones; all")
      .positive();
  app.add_option("--threads", o->threads, "As many as there are cores").positive();
  app.add_flag("--training", o->training,
               "The training half of the data set instead of the test half");
  app.add_flag(
      "--compare-float", o->compare,
      "Runs the float model too: its accuracy, how many labels agree, SQNR of the outputs");
  app.add_flag("--report", o->report, "Shows on stderr how each value was quantised");
  app.add_flag("--json", o->json, "One JSON object on one line");
  add_calibrate_options(app, o->calibrate);
  add_image_options(app, o->image);
  return [o] { return run(*o); };
}

}  // namespace

extern constinit const Command command_eval = {
    .name = "eval",
    .doc = "Measures the accuracy of a classifier on labelled data",
    .setup = setup,
};

}  // namespace longshore::commands
