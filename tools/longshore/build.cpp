#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <sstream>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/file.hpp"
#include "build_report.hpp"
#include "calibrate.hpp"
#include "command.hpp"
#include "lower/cpu.hpp"
#include "lower/lower.hpp"
#include "measure/chrome_trace.hpp"
#include "model_options.hpp"
#include "optimize/optimize.hpp"
#include "program/print.hpp"
#include "quantize/import.hpp"
#include "sim/simulate.hpp"
#include "sim/verify.hpp"
#include "write/bundle.hpp"

namespace longshore::commands {
namespace {

struct Options {
  ModelOptions model;
  ImageOptions image;
  CalibrateOptions calibrate;
  std::string target = "cpu", out, trace, dump;
  bool json = false, plan = false;
};

bool quantised(const Graph& g) {
  for (const Node& n : g.nodes)
    for (ValueId v : n.outputs)
      if (v != no_value && g[v].type.quantised()) return true;
  return false;
}

void write_text_file(const std::string& path, const std::string& text) {
  require(write_file(path, std::as_bytes(std::span(text))), path);
}

/// Everything is planned ahead, so a batch that the model leaves open becomes 1.
Graph with_batch(const Graph& g) {
  InferOptions options;
  for (ValueId v : g.inputs) {
    const TensorType& t = g[v].type;
    if (!t.ranked || t.dims.empty() || t.dims[0].known()) continue;
    TensorType one = t;
    one.dims[0] = Dim(1);
    if (!one.shape()) continue;  // the report says which nodes that keeps from the NPU
    const std::string& symbol = t.dims[0].symbol;
    if (symbol.empty())
      options.input_shapes[g[v].name] = *one.shape();
    else
      options.dims[symbol] = 1;
    warn(str("the batch of input '", g[v].name, "' is open",
             symbol.empty() ? "" : str(" (", symbol, ")"), "; built for 1",
             symbol.empty() ? "" : str(" (another: --dim ", symbol, "=N)")));
  }
  return options.dims.empty() && options.input_shapes.empty() ? g : infer(g, options);
}

/// Writes what each stage made, numbered in their order, for people to read.
class Dump {
 public:
  explicit Dump(const std::string& folder) : folder_(folder) {
    std::error_code error;
    if (!folder.empty() && !std::filesystem::create_directories(folder, error) && error)
      fail(Code::io, "--dump ", folder, ": ", error.message());
  }
  void write(std::string_view stage, const std::function<std::string()>& text) {
    if (!folder_.empty()) write_text_file(str(folder_, "/", ++count_, "-", stage, ".txt"), text());
  }

 private:
  std::string folder_;
  int count_ = 0;
};

int run(const Options& o) {
  Dump dump(o.dump);
  const Target target = load_target(o.target);
  const ReadResult model = load_model(o.model, {});
  dump.write("read", [&] { return summary(model.graph); });
  Graph graph =
      optimize(import_quantised(target.machine.present ? with_batch(model.graph) : model.graph));
  dump.write("optimised", [&] { return summary(graph); });
  const bool wants_int8 = target.machine.present || !o.calibrate.sources.empty();
  if (wants_int8 && !quantised(graph)) graph = quantise_model(graph, o.calibrate, o.image);
  dump.write("quantised", [&] { return summary(graph); });

  BuildReport report;
  report.file = o.out;
  report.random_calibration =
      wants_int8 && o.calibrate.sources.empty() && !quantised(import_quantised(model.graph));
  BundleContents bundle;
  if (target.machine.present) {
    report.plan = lower::timed_plan(place(graph, target));
    dump.write("plan", [&] { return plan::print(report.plan); });
    bundle.program = lower::lower(report.plan);
    require(verified(bundle.program), "the verifier refuses the program");
    Result<Timing> timing = predict(bundle.program);
    require(timing.status(), "the simulator cannot time the program");
    report.timing = std::move(*timing);
  } else {
    report.plan.placement = place(graph, target);
    bundle.program = lower::lower_cpu(graph);
    for (std::size_t i = 0; i < bundle.program.steps.size(); i++)
      if (bundle.program.steps[i].layer != no_index)
        bundle.program.steps[i].cost_us =
            report.plan.placement.nodes[bundle.program.steps[i].layer].cpu_us();
  }
  dump.write("program", [&] { return print(bundle.program); });
  report.arena_bytes = bundle.program.arena_bytes;
  nlohmann::json json = to_json(report);
  bundle.graph = graph;
  bundle.report = json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (target.machine.present) bundle.target = print(target);
  if (!o.trace.empty()) write_text_file(o.trace, chrome_trace(bundle.program, report.timing));
  if (!o.out.empty()) write_bundle(o.out, bundle);
  dump.write("report", [&] {
    std::ostringstream text;
    show(text, report);
    return text.str();
  });
  if (o.plan && target.machine.present) std::cout << plan::print(report.plan) << "\n";
  json["bundle"] = o.out;  // not in the bundle: it is the same wherever it is written
  if (o.json)
    std::cout << json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
  else
    show(std::cout, report);
  return exit_code::yes;
}

std::function<int()> setup(CLI::App& app) {
  const auto o = std::make_shared<Options>();
  add_model_options(app, o->model);
  app.add_option("--target", o->target,
                 "Name of a target (see `longshore targets`) or a target file")
      ->capture_default_str();
  add_calibrate_options(app, o->calibrate);
  add_image_options(app, o->image);
  app.add_option("-o,--output", o->out,
                 "The bundle to write, FILE.lsb; without it only the report is made");
  app.add_option("--trace", o->trace,
                 "Writes the predicted timeline for chrome://tracing or Perfetto");
  app.add_option("--dump", o->dump, "Writes the text of every stage into this folder");
  app.add_flag("--plan", o->plan, "Shows tiles and SRAM slots of every layer");
  app.add_flag("--json", o->json, "One JSON object on one line");
  return [o] { return run(*o); };
}

}  // namespace

extern constinit const Command command_build = {
    .name = "build",
    .doc =
        "Compiles a model for a target into a bundle; shows where each node runs, why, and its "
        "price",
    .setup = setup,
};

}  // namespace longshore::commands
