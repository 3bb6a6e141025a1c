#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <sstream>

#include "base/error.hpp"
#include "base/file.hpp"
#include "buckets.hpp"
#include "build_report.hpp"
#include "build_summary.hpp"
#include "calibrate.hpp"
#include "command.hpp"
#include "compile/bundle_file.hpp"
#include "compile/choices.hpp"
#include "json.hpp"
#include "measure/chrome_trace.hpp"
#include "measure/svg_timeline.hpp"
#include "model_options.hpp"
#include "say.hpp"
#include "suggestions.hpp"
#include "command_line.hpp"
#include "target_options.hpp"
#include "write/bundle.hpp"

namespace longshore::commands {
namespace {

struct Options {
  ModelOptions model;
  std::vector<std::string> without, force, set, apply;
  PictureOptions image;
  CalibrateOptions calibrate;
  InputFormat format;
  std::string target = "cpu", sram_cap, optimize, out, trace, timeline, markdown, dump, write_model,
              buckets;
  bool json = false, plan = false, layers = false, suggest = false;
};

void write_text_file(const std::string& path, const std::string& text) {
  require(write_file(path, std::as_bytes(std::span(text))), path);
}

/// Writes what each stage made, numbered in their order, for people to read.
class Dump {
 public:
  explicit Dump(const std::string& folder) : folder_(folder) {
    std::error_code error;
    if (!folder.empty() && !std::filesystem::create_directories(folder, error) && error)
      fail(Code::io, "--dump ", folder, ": ", error.message());
  }
  bool wanted() const { return !folder_.empty(); }
  void write(std::string_view stage, const std::string& text) {
    write_text_file(str(folder_, "/", ++count_, "-", stage, ".txt"), text);
  }

 private:
  std::string folder_;
  int count_ = 0;
};

/// Options that mean nothing for this target or file.
void check_options(const Options& o, const Target& target) {
  if (!target.machine.present && !o.without.empty())
    fail(Code::bad_argument, "--without is about plans of an NPU; the target ", target.name,
         " has none");
  if (!target.machine.present && !(o.sram_cap + o.optimize).empty())
    fail(Code::bad_argument, o.sram_cap.empty() ? "--optimize" : "--sram-cap",
         " is about plans of an NPU; the target ", target.name, " has none");
  if (!target.machine.present && !o.force.empty())
    fail(Code::bad_argument, "--force chooses between NPU and CPU; the target ", target.name,
         " has no NPU");
  if (!target.machine.present && (o.suggest || !o.apply.empty()))
    fail(Code::bad_argument,
         "--suggest and --apply are about what an NPU does not run; the target ", target.name,
         " has none");
  if ((o.suggest || !o.apply.empty()) && compile::open_bundle(o.model.path))
    fail(Code::bad_argument, "--suggest and --apply are for models; ", o.model.path,
         " is a bundle");
  if (!target.machine.present && !o.trace.empty())
    fail(Code::bad_argument, "--trace shows what an NPU does; the target ", target.name,
         " has none");
  if (!target.machine.present && !o.timeline.empty())
    fail(Code::bad_argument, "--timeline shows what an NPU does; the target ", target.name,
         " has none");
  if (!target.machine.present && o.plan)
    fail(Code::bad_argument, "--plan shows tiles of an NPU; the target ", target.name, " has none");
  if (!o.calibrate.sources.empty() && compile::open_bundle(o.model.path))
    fail(Code::bad_argument, "--calibrate is for models; ", o.model.path,
         " is a bundle and quantised as it is");
  if (!o.calibrate.precision.empty() && compile::open_bundle(o.model.path))
    fail(Code::bad_argument, "--precision is for models; ", o.model.path,
         " is a bundle and quantised as it is");
  if (o.format.changes() && compile::open_bundle(o.model.path))
    fail(Code::bad_argument, "--input-type and --input-layout are for models; ", o.model.path,
         " is a bundle and takes its inputs as they are");
}

compile::Options compile_options(const Options& o) {
  compile::Options options;
  options.target = load_target(o.target, o.set);
  check_options(o, *options.target);
  options.source = source_of(o.model);
  for (const std::string& unit : o.force) compile::choose(options, "--force", unit);
  for (const std::string& name : o.without) compile::choose(options, "--without", name);
  if (!o.sram_cap.empty()) compile::choose(options, "--sram-cap", o.sram_cap);
  if (!o.optimize.empty()) compile::choose(options, "--optimize", o.optimize);
  options.input_format = o.format;
  options.pictures = o.image.image();
  warn_of_small_means(o.image);
  set_calibration(options, o.calibrate, o.image, 0);
  return options;
}

/// One program for each size. Bundles are written when all are built.
int run_buckets(const Options& o) {
  const Buckets buckets = parse_buckets(o.buckets);
  if (o.layers || o.plan || o.suggest)
    fail(Code::bad_argument, "--buckets builds several programs; ",
         o.layers ? "--layers" : (o.plan ? "--plan" : "--suggest"), " tells of one (--dim NAME=N)");
  for (const std::string* file : {&o.trace, &o.timeline, &o.markdown, &o.dump, &o.write_model})
    if (!file->empty())
      fail(Code::bad_argument, "--buckets builds several programs, but ", *file, " is of one");
  if (compile::open_bundle(o.model.path))
    fail(Code::bad_argument, "--buckets is for models; ", o.model.path, " is a bundle");
  std::vector<Bucket> built;
  std::vector<BundleContents> contents;
  for (const std::int64_t size : buckets.sizes) {
    Options one = o;
    one.model.dims.push_back(str(buckets.dim, "=", size));
    for (std::string& source : one.calibrate.sources) source = with_size(source, size);
    const compile::Compiled c = compile_shown(compile_options(one), o.apply);
    if (built.empty()) warn_of_unused(o.calibrate, c);
    built.push_back({size, latency_ms(c), file_of(o.out, buckets, size)});
    if (o.out.empty()) continue;
    contents.push_back(c.bundle());
    contents.back().report = to_json(c).text();
  }
  for (std::size_t i = 0; i < contents.size(); i++) write_bundle(built[i].bundle, contents[i]);
  if (o.json)
    print_json(json_of(buckets, built));
  else
    std::cout << text_of(buckets, built);
  return exit_code::yes;
}

int run(const Options& o) {
  if (!o.buckets.empty()) return run_buckets(o);
  Dump dump(o.dump);
  compile::Options options = compile_options(o);
  if (dump.wanted())
    options.snapshot = [&](std::string_view stage, const std::string& text) {
      dump.write(stage, text);
    };
  const compile::Compiled c = compile_shown(options, o.apply);
  warn_of_unused(o.calibrate, c);

  Json json = to_json(c);
  std::vector<compile::Suggestion> suggestions;
  if (o.suggest) {
    options.model = c.model;
    options.model->graph = c.optimised;
    suggestions = compile::suggest(options, c);
    json["suggestions"] = to_json(c, suggestions);
  }
  if (!o.write_model.empty()) write_text_file(o.write_model, print(c.optimised));
  BundleContents bundle = c.bundle();
  bundle.report = json.text();
  if (!o.trace.empty()) write_text_file(o.trace, chrome_trace(c.program, c.timing));
  if (!o.timeline.empty())
    write_text_file(o.timeline, svg_timeline(c.program, c.timing,
                                             str(o.model.path, " on ", c.plan.placement.target.name,
                                                 ": ", shown_ms(latency_ms(c)), " predicted")));
  if (!o.markdown.empty()) write_text_file(o.markdown, markdown_report(c, o.model.path));
  if (!o.out.empty()) write_bundle(o.out, bundle);
  if (dump.wanted()) {
    std::ostringstream text;
    show_layers(text, c);
    show_totals(text, c, o.out);
    dump.write("report", text.str());
  }
  if (o.plan) std::cout << plan::print(c.plan) << "\n";
  if (!o.json) {
    (o.layers ? show_layers : show_summary)(std::cout, c);
    if (o.suggest) show_suggestions(std::cout, c, suggestions);
    show_totals(std::cout, c, o.out);
    return exit_code::yes;
  }
  // Not in the bundle, which is the same wherever it is written and whatever was said.
  json["bundle"] = o.out.empty() ? Json() : Json(o.out);
  json["warnings"] = warnings();
  print_json(json);
  return exit_code::yes;
}

std::function<int()> setup(CommandLine& app) {
  const auto o = std::make_shared<Options>();
  add_model_options(app, o->model);
  app.add_option("--target", o->target,
                 "Name of a target (see `longshore targets`) or a target file")
      .show_default();
  add_set_option(app, o->set);
  add_precision_option(app, o->calibrate);
  add_calibrate_options(app, o->calibrate);
  add_image_options(app, o->image);
  using Layout = InputFormat::Layout;
  app.add_choice<bool>(
         "--input-type", o->format.bytes, {{"f32", false}, {"u8", true}},
         "f32, or u8: the program is given pictures as bytes, and --mean and --std are "
         "part of it")
      .group("Pictures");
  app.add_choice<Layout>("--input-layout", o->format.layout,
                         {{"model", Layout::model}, {"nchw", Layout::nchw}, {"nhwc", Layout::nhwc}},
                         "model, nchw or nhwc: how the program is given pictures")
      .group("Pictures");
  app.add_option("-o,--output", o->out,
                 "The bundle to write, FILE.lsb; without it only the report is made")
      .not_empty();
  app.add_option(
         "--buckets", o->buckets,
         "NAME=N,N,...: one program for each size of a dimension, as seq=128,256,512, and what "
         "padding to them costs; {} in -o and --calibrate is the size")
      .not_empty();
  app.add_option("--trace", o->trace,
                 "Writes the predicted timeline for chrome://tracing or Perfetto")
      .not_empty();
  app.add_option("--timeline", o->timeline,
                 "Draws the predicted timeline as FILE.svg: engines, layers and memory over time")
      .not_empty();
  app.add_option("--markdown", o->markdown,
                 "Writes the report as Markdown: every node with all its figures, reasons and "
                 "prices")
      .not_empty();
  app.add_option("--dump", o->dump, "Writes the text of every stage into this folder").not_empty();
  app.add_option(
         "--force", o->force,
         "NODE=cpu or NODE=npu: where a node runs, whatever it costs; NODE is a node's name, "
         "an output's name, an operator or *, which is all that the NPU can run")
      .one_at_a_time();
  app.add_option(
         "--without", o->without,
         str("Plans for the NPU without ", compile::mechanism_names(), ", to see what each gains"))
      .one_at_a_time();
  app.add_option(
         "--optimize", o->optimize,
         "speed (the default), or size: the least memory, arena and SRAM together, that takes "
         "at most twice as long")
      .not_empty();
  app.add_option("--sram-cap", o->sram_cap,
                 "SIZE, such as 192KiB: plans as if the NPU had no more SRAM than that")
      .not_empty();
  app.add_flag("--suggest", o->suggest,
               "For each kind of node that the NPU does not run: its limits, its price, the change "
               "of the model that lets it run there, and what the whole model gains (tried on a "
               "copy: one build each)");
  app.add_option(
         "--apply", o->apply,
         "Makes the changes that --suggest names: of a node, an output, an operator, of one "
         "kind (large_stride), exact for those that keep the answers, or all")
      .one_at_a_time();
  app.add_option("--write-model", o->write_model,
                 "Writes the float model as it is after the optimiser and --apply, as text that "
                 "every command reads")
      .not_empty();
  app.add_flag("--layers", o->layers, "Lists every node, not the dearest and the fallbacks alone");
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
