#include "calibrate.hpp"

#include "compile/fallbacks.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <thread>

#include "base/error.hpp"
#include "compile/near_names.hpp"
#include "measure/dataset.hpp"
#include "model_options.hpp"
#include "command_line.hpp"
#include "progress.hpp"

namespace longshore {
namespace {

namespace fs = std::filesystem;

/// The samples of one input.
struct Source {
  std::size_t count = 0;
  std::function<Tensor(std::size_t)> read;
  std::function<std::string(std::size_t)> name;
};

std::string listed(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& n : names) out += str(out.empty() ? "'" : ", '", n, "'");
  return out;
}

std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> out;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error))
    if (it->is_regular_file() && !it->path().filename().string().starts_with("."))
      out.push_back(it->path().string());
  if (error) fail(Code::io, folder, ": ", error.message());
  std::ranges::sort(out);
  return out;
}

Source open_source(const std::string& path, const TensorType& type, const ImageOptions& image) {
  Source s;
  if (names_dataset(path)) {
    DatasetRequest request;
    request.training = true;
    request.input = type;
    const auto data = std::make_shared<const Dataset>(open_dataset(path, request));
    s.count = data->count;
    s.read = [data, type](std::size_t i) { return data->input(i, type); };
    s.name = data->sample_name;
    return s;
  }
  std::error_code ignored;
  const bool folder = fs::is_directory(path, ignored);
  if (!folder && !fs::is_regular_file(path, ignored))
    fail(Code::io, "--calibrate ", path, ": there is no such file, folder or data set");
  const auto files = std::make_shared<const std::vector<std::string>>(
      folder ? files_in(path) : std::vector<std::string>{path});
  if (files->empty())
    fail(Code::bad_argument, "--calibrate ", path, ": the calibration data set is empty");
  s.count = files->size();
  s.read = [files, type, image](std::size_t i) { return read_input((*files)[i], type, image); };
  s.name = [files](std::size_t i) { return (*files)[i]; };
  return s;
}

/// All samples of `first`, then those of `second`.
Source chain(Source first, Source second) {
  Source s;
  const std::size_t split = first.count;
  s.count = first.count + second.count;
  const auto both =
      std::make_shared<const std::pair<Source, Source>>(std::move(first), std::move(second));
  s.read = [both, split](std::size_t i) {
    return i < split ? both->first.read(i) : both->second.read(i - split);
  };
  s.name = [both, split](std::size_t i) {
    return i < split ? both->first.name(i) : both->second.name(i - split);
  };
  return s;
}

/// One source for each input, in their order. Several for one input add up; without a name they
/// belong to the only input, or to the inputs in turn.
std::vector<Source> open_sources(const Graph& g, const std::vector<std::string>& texts,
                                 const ImageOptions& image) {
  std::vector<std::string> names;
  for (ValueId v : g.inputs) names.push_back(g[v].name);
  std::vector<Source> out(g.inputs.size());
  std::size_t next = 0;
  for (const std::string& text : texts) {
    const auto [name, path] = split_name(text, names);
    std::error_code ignored;
    if (const std::size_t equals = text.find('='); name.empty() && equals != std::string::npos &&
                                                   !fs::exists(text, ignored) &&
                                                   !names_dataset(text))
      fail(Code::bad_argument, "--calibrate ", text, ": the model has no input '",
           text.substr(0, equals), "'; its inputs are ", listed(names),
           compile::near_names(text.substr(0, equals), names));
    std::size_t at = next;
    if (name.empty())
      next += out.size() > 1;
    else
      at = static_cast<std::size_t>(std::ranges::find(names, name) - names.begin());
    if (at >= out.size())
      fail(Code::bad_argument, "--calibrate ", text, ": the model has ", out.size(),
           " inputs; NAME=PATH says which one is meant");
    Source source = open_source(path, g[g.inputs[at]].type, image);
    out[at] = out[at].read ? chain(std::move(out[at]), std::move(source)) : std::move(source);
  }
  for (std::size_t i = 0; i < out.size(); i++)
    if (!out[i].read)
      fail(Code::bad_argument, "--calibrate has nothing for input '", names[i],
           "' (NAME=PATH gives it something)");
  for (const Source& s : out)
    if (s.count != out[0].count)
      fail(Code::bad_argument, "--calibrate: the inputs have ", out[0].count, " and ", s.count,
           " samples; expected as many for each");
  return out;
}

/// NAME=PRECISION of --node-precision.
NodePrecision node_precision(const std::string& text) {
  const std::size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0)
    fail(Code::bad_argument, "--node-precision ", text,
         ": expected NAME=int8, NAME=int16 or NAME=int16x16");
  return {text.substr(0, equals), precision_of(std::string_view(text).substr(equals + 1))};
}

}  // namespace

Precision precision_of(std::string_view name) {
  if (name == "int8") return Precision::w8a8;
  if (name == "int16") return Precision::w8a16;
  if (name == "int16x16") return Precision::w16a16;
  if (name == "fp16")
    fail(Code::unsupported,
         "fp16: no instruction of an NPU takes half-precision tiles and no kernel computes in "
         "half precision yet; int8, int16 and int16x16 are there");
  fail(Code::bad_argument, "a precision of int8, int16 or int16x16 is expected, found '", name,
       "'");
}

int thread_count(int threads) {
  return threads > 0 ? threads : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

void add_calibrate_options(CommandLine& app, CalibrateOptions& o) {
  const char* group = "Quantisation";
  app.add_option("--calibrate", o.sources,
                 "[NAME=]PATH: samples for input NAME: a folder of pictures or .npy files, a file, "
                 "or a data set")
      .one_at_a_time()
      .group(group);
  app.add_option("--calibrate-limit", o.limit, "Samples that are used; 500")
      .range(std::size_t{1}, std::size_t{1} << 24)
      .group(group);
  app.add_flag("--lint,!--no-lint", o.lint,
               "Looks first whether the samples are what the model wants; on")
      .group(group);
  std::vector<std::string> names;
  for (const Calibrator* c : calibrators::all()) names.emplace_back(c->name);
  app.add_option("--calibrator", o.quantize.calibrator, "How the ranges of activations are chosen")
      .one_of(names)
      .group(group);
  app.add_flag(
         "--least-error-weights", o.quantize.least_error_weights,
         "Weight scales that minimise the squared error, instead of reaching the largest weight")
      .group(group);
  app.add_flag(
         "--equalise,!--no-equalise", o.quantize.equalise,
         "Brings channels that share a scale to a like size, by the weights before and behind "
         "them; on")
      .group(group);
  app.add_flag("--bias-correction,!--no-bias-correction", o.quantize.correct_bias,
               "Adds to each bias what rounding takes from the mean of its channel; on")
      .group(group);
  app.add_choice<std::optional<Rounding>>(
         "--rounding", o.rounding,
         {{"f32_even", Rounding::f32_even},
          {"fixed31_single", Rounding::fixed31_single},
          {"fixed31_double", Rounding::fixed31_double}},
         "How sums become codes: f32_even, fixed31_single or fixed31_double; f32_even, or what the "
         "target has")
      .group(group);
  app.add_option("--keep-float", o.quantize.exclude,
                 "A node's name, an output's name or an operator that stays float")
      .one_at_a_time()
      .group(group);
  app.add_option(
         "--node-precision", o.node_precisions,
         "NAME=int8, NAME=int16 or NAME=int16x16: of a node, an output's node or an operator")
      .one_at_a_time()
      .group(group);
  app.add_option(
         "--min-sqnr", o.quantize.min_sqnr_db,
         "DB: 16-bit activations where the outputs of calibration samples need them to come within "
         "so many decibels of float's, by the cheapest choice found for the target")
      .range(0.0, 200.0)
      .group(group);
  app.add_option(
         "--max-drop", o.quantize.max_drop,
         "PERCENT: the same, until at most so much of the outputs is noise and at most so many of "
         "float's answers are lost, by float's own probabilities")
      .range(0.0, 100.0)
      .group(group);
}

void add_precision_option(CommandLine& app, CalibrateOptions& o) {
  app.add_option(
         "--precision", o.precision,
         "int8; int16: activations of 16 bits beside weights of 8; int16x16: both of 16 (fp16 is "
         "refused: it is not there yet)")
      .one_of({"int8", "int16", "int16x16", "fp16"})
      .group("Quantisation");
}

namespace {

compile::Samples open_samples(const Graph& g, const std::vector<std::string>& texts,
                              std::size_t limit, const ImageOptions& image) {
  const auto sources = std::make_shared<const std::vector<Source>>(open_sources(g, texts, image));
  const auto picked = std::make_shared<const std::vector<std::size_t>>(
      pick_samples(sources->empty() ? 0 : sources->front().count, limit));
  compile::Samples out;
  out.count = picked->size();
  out.get = [sources, picked](std::size_t i) {
    std::vector<Tensor> tensors;
    for (const Source& s : *sources) tensors.push_back(s.read((*picked)[i]));
    return tensors;
  };
  out.name = [sources, picked](std::size_t i, std::size_t input) {
    return (*sources)[input].name((*picked)[i]);
  };
  return out;
}

/// One line for the passes of calibration, which are what takes long.
std::function<bool(const compile::Progress&)> shown_progress() {
  struct Line {
    std::string what;
    std::unique_ptr<Progress> progress;
  };
  const auto line = std::make_shared<Line>();
  return [line](const compile::Progress& p) {
    if (p.stage != compile::Stage::quantise || p.part.empty()) {
      line->progress.reset();
      line->what.clear();
      return true;
    }
    if (line->what != p.part) {
      line->what = p.part;
      line->progress = std::make_unique<Progress>(str("calibrating, ", p.part));
    }
    line->progress->update(p.done, p.of);
    return true;
  };
}

}  // namespace

void set_calibration(compile::Options& to, const CalibrateOptions& o, const ImageOptions& image,
                     int threads, const std::string& fallback) {
  to.numbers = o.quantize;
  if (!o.precision.empty()) {
    to.numbers.precision = precision_of(o.precision);
    to.quantise = compile::Quantise::always;
  }
  for (const std::string& text : o.node_precisions)
    to.numbers.precisions.push_back(node_precision(text));
  to.rounding = o.rounding;
  to.threads = thread_count(threads);
  to.lint = o.lint;
  if (o.sources.empty() && fallback.empty()) return;
  to.samples = [o, image, fallback](const Graph& g) {
    return open_samples(g, o.sources.empty() ? std::vector<std::string>{fallback} : o.sources,
                        o.limit, image);
  };
}

compile::Compiled compile_shown(compile::Options options, const std::vector<std::string>& apply) {
  options.progress = shown_progress();
  const bool reads = !options.model.has_value();
  compile::Compiled out =
      apply.empty() ? compile::compile(options) : compile::compile_changed(options, apply);
  if (reads)
    for (const std::string& w : out.model.warnings) warn(options.source.path + ": " + w);
  for (const Finding& f : out.findings) warn(text(f));
  for (const std::string& w : out.warnings) warn(w);
  return out;
}

void warn_of_unused(const CalibrateOptions& o, const compile::Compiled& c) {
  if (c.quantised_here) return;
  const char* why = c.was_quantised ? "the model came quantised" : "nothing is quantised here";
  if (!o.sources.empty()) warn(str("--calibrate changes nothing: ", why));
  if (!o.quantize.exclude.empty()) warn(str("--keep-float changes nothing: ", why));
  if (o.rounding) warn(str("--rounding changes nothing: ", why));
  if (!o.precision.empty()) warn(str("--precision changes nothing: ", why));
  if (!o.node_precisions.empty()) warn(str("--node-precision changes nothing: ", why));
  if (o.quantize.min_sqnr_db > 0) warn(str("--min-sqnr changes nothing: ", why));
  if (o.quantize.max_drop > 0) warn(str("--max-drop changes nothing: ", why));
}

}  // namespace longshore
