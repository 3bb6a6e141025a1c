#include <algorithm>
#include <cmath>
#include <iostream>
#include <memory>

#include <fmt/format.h>

#include "base/error.hpp"
#include "calibrate.hpp"
#include "command.hpp"
#include "json.hpp"
#include "labels.hpp"
#include "measure/accuracy.hpp"
#include "measure/float_records.hpp"
#include "measure/runner.hpp"
#include "compile/bundle_file.hpp"
#include "engine.hpp"
#include "model_options.hpp"
#include "progress.hpp"
#include "run/context.hpp"
#include "saturated.hpp"

namespace longshore::commands {
namespace {

struct Options {
  ModelOptions model;
  CalibrateOptions calibrate;
  PictureOptions image;
  std::string data, on = "auto", precision, reference, labels;
  std::size_t limit = 0, first = 0;  // 0: all
  int threads = 0;
  bool json = false, compare = false, report = false, training = false;

  bool holds_against_float() const { return compare || !reference.empty(); }
};

/// What runs samples, one for each thread.
using MakeEngine = std::function<Answer()>;

MakeEngine engine_for(const Graph& g, const std::string& on) {
  const auto graph = std::make_shared<const Graph>(g);
  if (on == "reference")
    return [graph] {
      return [graph](std::size_t, const Tensor& x) {
        return evaluate(*graph, std::span(&x, 1)).at(0);
      };
    };
  return [graph] {
    const auto runner = std::make_shared<Runner>(*graph);
    return [runner](std::size_t, const Tensor& x) { return runner->run(std::span(&x, 1)).at(0); };
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
    return [model, context](std::size_t, const Tensor& x) {
      const TensorView view = x.view();
      require(context->run(std::span(&view, 1)));
      return copy_tensor(context->output(0));
    };
  };
}

/// Outputs that were kept: a record for each sample of the data set, or of the first that are used.
MakeEngine stored_outputs(const std::string& path, const Dataset& data, std::size_t first,
                          const TensorType& output) {
  const Shape shape = sample_shape(output, "a file of float32 outputs to compare with");
  const auto records = std::make_shared<const FloatRecords>(
      read_float_records(path, shape.elements(), str("output 0, ", print(output))));
  if (records->count != data.count && records->count != first)
    fail(Code::bad_argument, "--reference ", path, ": expected ", data.count,
         " records, one for each sample of ", data.name,
         first < data.count ? str(", or ", first, " for --first") : "", ", found ", records->count);
  return [records] {
    return [records](std::size_t i, const Tensor&) {
      return make_floats({static_cast<std::int64_t>(records->elements)}, records->record(i));
    };
  };
}

double percent(std::size_t part, std::size_t all) {
  return 100.0 * static_cast<double>(part) / static_cast<double>(all);
}

/// The data set of --data; what was asked for and can do nothing is said.
Dataset open_data(const Options& o, const ReadResult& model, const TensorType& input) {
  DatasetRequest request;
  request.training = o.training;
  request.input = input;
  request.labels = read_labels(o.labels);
  if (!o.labels.empty() && request.labels.empty())
    fail(Code::bad_argument, "--labels ", o.labels, ": expected a line for each class, found none");
  const bool reads_pictures = !names_dataset(o.data);
  ImageOptions image = o.image.image();
  if (reads_pictures) image = pictures_for(model, o.image);
  request.read_file = [image](const std::string& file, const TensorType& type) {
    return read_input(file, type, image);
  };
  Dataset data = open_dataset(o.data, request);
  if (o.first > data.count)
    fail(Code::bad_argument, "--first ", o.first, ": ", data.name, " has ", data.count, " samples");
  if (!data.label && !o.holds_against_float())
    fail(Code::bad_argument, "--data ", o.data,
         names_dataset(o.data) ? " has no labels"
                               : " has no labels (no subfolders, one for each class)",
         ": expected --compare-float, or --reference FILE, to hold answers against");
  if (!o.labels.empty() && data.named_classes.empty())
    warn("--labels changes nothing: it says what folders with names mean, and there are none");
  if (o.image.given && !reads_pictures && std::ranges::all_of(o.calibrate.sources, names_dataset))
    warn(str("--mean, --std and what else is said of pictures change nothing: ", data.name,
             " says itself what numbers its samples are"));
  return data;
}

/// Of a tensor with known dims.
std::optional<std::size_t> known_elements(const TensorType& t) {
  if (!t.ranked) return {};
  std::size_t out = 1;
  for (const Dim& d : t.dims) {
    if (!d.known() || d.value < 0) return {};
    out *= static_cast<std::size_t>(d.value);
  }
  return out;
}

/// "cat is 0, dog is 1 and 8 more": at most ten names.
std::string shown_classes(const std::map<std::string, int>& classes) {
  constexpr std::size_t most = 10;
  std::string out;
  std::size_t n = 0;
  for (const auto& [name, label] : classes)
    if (n++ < most) out += str(out.empty() ? "" : ", ", name, " is ", label);
  return n > most ? str(out, " and ", n - most, " more") : out;
}

void show(const Options& o, const Dataset& data, const Accuracy& a, const std::string& what) {
  std::cout << o.model.path << " on " << data.name << ", " << what << ": ";
  if (data.label)
    std::cout << a.right << " of " << a.samples << " right, " << percent(a.right, a.samples)
              << " %\n";
  else
    std::cout << a.samples << " samples without labels\n";
  if (!data.named_classes.empty())
    std::cout << wrapped(str("  classes: ", shown_classes(data.named_classes)), 0, 4) << "\n";
  if (!o.holds_against_float()) return;
  std::cout << (data.label ? str("  float ", percent(a.reference_right, a.samples), " %, ")
                           : "  against float: ");
  if (a.scores) std::cout << "same label in " << percent(a.agrees, a.samples) << " %, ";
  std::cout << "output SQNR "
            << (std::isinf(a.sqnr_db()) ? std::string("infinite") : str(a.sqnr_db(), " dB"))
            << "\n";
  if (!data.label) return;
  const PairedDifference d = a.difference();
  std::cout << fmt::format(
      "  minus float {:+.2f} points, 95 % from {:+.2f} to {:+.2f}; right alone: float {}, this "
      "{}\n",
      d.points, d.low, d.high, a.only_reference_right, a.only_model_right);
}

Json to_json(const Options& o, const Dataset& data, const Accuracy& a) {
  Json j = {{"model", o.model.path}, {"data", data.name}, {"samples", a.samples}};
  if (data.label) {
    j["metric"] = "top1_percent";
    j["value"] = percent(a.right, a.samples);
    j["right"] = a.right;
  }
  if (!data.named_classes.empty()) j["classes"] = data.named_classes;
  if (!o.holds_against_float()) return j;
  if (a.scores) j["label_agreement_percent"] = percent(a.agrees, a.samples);
  j["output_sqnr_db"] = a.sqnr_db();
  if (!data.label) return j;
  const PairedDifference d = a.difference();
  j["float_value"] = percent(a.reference_right, a.samples);
  j["paired_difference_points"] = d.points;
  j["paired_interval_points"] = std::vector<double>{d.low, d.high};
  j["only_float_right"] = a.only_reference_right;
  j["only_quantised_right"] = a.only_model_right;
  return j;
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
  const TensorType output = plain[plain.outputs.at(0)].type;
  const Dataset data = open_data(o, model, input);
  if (const std::optional<std::size_t> scores = known_elements(output); scores && data.label)
    check_classes(data, *scores);
  const std::size_t first = o.first > 0 ? o.first : data.count;
  const std::vector<std::size_t> picked = pick_samples(first, o.limit > 0 ? o.limit : first);
  const MakeEngine reference = !o.reference.empty()
                                   ? stored_outputs(o.reference, data, first, output)
                               : o.compare ? engine_for(plain, on == "sim" ? "cpu" : on)
                                           : MakeEngine{};
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
         " holds a quantised model, not its float form; --reference takes outputs that were kept");
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
  std::vector<Tensor> some;
  for (std::size_t i = 0; i < std::min<std::size_t>(picked.size(), 16); i++)
    some.push_back(data.input(picked[i], input));
  warn_of_saturated(graph, graph.inputs[0], some);
  Progress progress("evaluating");
  const Accuracy a = measure_accuracy(
      data, {.picked = picked,
             .input = input,
             .model = simulator ? simulator : engine_for(graph, on),
             .reference = reference,
             .threads = thread_count(o.threads),
             .progress = [&](std::size_t done, std::size_t of) { progress.update(done, of); }});
  if (std::isnan(a.sqnr_db())) warn("an output is not a number: there is no SQNR");
  Progress::clear();
  if (!o.json) {
    show(o, data, a, str(precision, " on ", on));
    return exit_code::yes;
  }
  Json j = to_json(o, data, a);
  j["on"] = on;
  j["precision"] = precision;
  if (quantise) {
    j["calibrator"] = o.calibrate.quantize.calibrator;
    j["calibration_samples"] = report.samples;
    j["integer_nodes"] = report.quantised_nodes;
    j["float_nodes"] = report.float_nodes.size();
  }
  j["warnings"] = warnings();
  print_json(j);
  return exit_code::yes;
}

std::function<int()> setup(CommandLine& app) {
  const auto o = std::make_shared<Options>();
  add_model_options(app, o->model);
  app.add_option("--data", o->data,
                 "fashion-mnist[:FOLDER], cifar10:FILE, or a folder class/picture; without labels: "
                 "cifar10x3:FILE, f32:FILE, or a folder of pictures")
      .required();
  app.add_option("--labels", o->labels,
                 "A text file, line N names class N: what folders with names mean")
      .not_empty();
  add_on_option(app, o->on);
  app.add_option("--precision", o->precision,
                 "float32, int8, int16 or int16x16; as the file has it")
      .one_of({"float32", "int8", "int16", "int16x16"});
  app.add_option("--limit", o->limit, "Samples that are used, always the same ones; all")
      .positive();
  app.add_option("--first", o->first,
                 "The first so many samples are the whole data set; what --reference was made for")
      .positive();
  app.add_option("--threads", o->threads, "As many as there are cores").positive();
  app.add_flag("--training", o->training,
               "The training half of the data set instead of the test half");
  const Option compare = app.add_flag(
      "--compare-float", o->compare,
      "Runs the float model too: its accuracy and the difference with a 95 % interval, how many "
      "labels agree, SQNR of the outputs");
  app.add_option("--reference", o->reference,
                 "FILE.f32: float outputs that were kept, a record for each sample of the data "
                 "set, to compare with instead")
      .not_empty()
      .excludes(compare);
  app.add_flag("--report", o->report, "Shows on stderr how each value was quantised");
  app.add_flag("--json", o->json, "One JSON object on one line");
  add_calibrate_options(app, o->calibrate);
  add_image_options(app, o->image);
  return [o] { return run(*o); };
}

}  // namespace

extern constinit const Command command_eval = {
    .name = "eval",
    .doc = "Measures the accuracy of a model: on labelled data, or against float outputs",
    .setup = setup,
};

}  // namespace longshore::commands
