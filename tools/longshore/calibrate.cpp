#include "calibrate.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <thread>

#include "base/error.hpp"
#include "measure/dataset.hpp"
#include "measure/runner.hpp"
#include "model_options.hpp"
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

MakeSampleRunner fast_runner() {
  return [](const Graph& g, std::span<const ValueId>) -> SampleRunner {
    struct State {
      const Observer* observe = nullptr;
      std::optional<Runner> runner;
    };
    const auto state = std::make_shared<State>();
    RunnerOptions options;
    options.observe = [raw = state.get()](ValueId v, const TensorView& t) {
      (*raw->observe)(v, t);
    };
    state->runner.emplace(g, options);
    return [state](std::span<const Tensor> inputs, const Observer& observe) {
      state->observe = &observe;
      state->runner->run(inputs);
    };
  };
}

}  // namespace

int thread_count(int threads) {
  return threads > 0 ? threads : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

void add_calibrate_options(CLI::App& app, CalibrateOptions& o) {
  const char* group = "Quantisation";
  app.add_option("--calibrate", o.sources,
                 "[NAME=]PATH: samples for input NAME: a folder of pictures or .npy files, a file, "
                 "or a data set")
      ->allow_extra_args(false)
      ->group(group);
  app.add_option("--calibrate-limit", o.limit, "Samples that are used; 500")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 24))
      ->group(group);
  std::vector<std::string> names;
  for (const Calibrator* c : calibrators::all()) names.emplace_back(c->name);
  app.add_option("--calibrator", o.quantize.calibrator, "How the ranges of activations are chosen")
      ->check(CLI::IsMember(names))
      ->group(group);
  app.add_flag(
         "--least-error-weights", o.quantize.least_error_weights,
         "Weight scales that minimise the squared error, instead of reaching the largest weight")
      ->group(group);
  app.add_flag("--bias-correction,!--no-bias-correction", o.quantize.correct_bias,
               "Adds to each bias what rounding takes from the mean of its channel; on")
      ->group(group);
  app.add_option("--rounding", o.rounding,
                 "How sums become codes: f32_even, fixed31_single or fixed31_double")
      ->check(CLI::IsMember({"f32_even", "fixed31_single", "fixed31_double"}))
      ->group(group);
  app.add_option("--keep-float", o.quantize.exclude,
                 "A node's name, an output's name or an operator that stays float")
      ->allow_extra_args(false)
      ->group(group);
}

Calibration make_calibration(const Graph& g, const CalibrateOptions& o, const ImageOptions& image,
                             const std::string& fallback) {
  Calibration c;
  c.threads = thread_count(o.threads);
  c.make_runner = fast_runner();
  const auto progress = std::make_shared<std::pair<std::string, std::unique_ptr<Progress>>>();
  c.progress = [progress](std::string_view pass, std::size_t done, std::size_t all) {
    if (progress->first != pass)
      *progress = {std::string(pass), std::make_unique<Progress>(str("calibrating, ", pass))};
    progress->second->update(done, all);
    if (done == all) *progress = {};
  };
  std::vector<std::string> texts = o.sources;
  if (texts.empty() && !fallback.empty() && g.inputs.size() == 1) texts = {fallback};
  if (texts.empty()) {
    warn(
        "no --calibrate: RANDOM data stands in for samples; the int8 model's accuracy is "
        "meaningless");
    std::vector<std::vector<Tensor>> samples(16);
    for (std::size_t i = 0; i < samples.size(); i++)
      for (std::size_t k = 0; k < g.inputs.size(); k++)
        samples[i].push_back(random_input(g[g.inputs[k]].type, 1 + i * g.inputs.size() + k));
    c.count = samples.size();
    c.sample = [samples = std::move(samples)](std::size_t i) { return samples[i]; };
    return c;
  }
  const auto sources = std::make_shared<const std::vector<Source>>(open_sources(g, texts, image));
  const auto picked = std::make_shared<const std::vector<std::size_t>>(
      pick_samples(sources->empty() ? 0 : sources->front().count, o.limit));
  c.count = picked->size();
  c.sample = [sources, picked](std::size_t i) {
    std::vector<Tensor> out;
    for (const Source& s : *sources) out.push_back(s.read((*picked)[i]));
    return out;
  };
  c.name = [sources, picked](std::size_t i) { return sources->front().name((*picked)[i]); };
  return c;
}

Graph quantise_model(const Graph& optimised, const CalibrateOptions& o, const ImageOptions& image,
                     QuantizeReport* report, const std::string& fallback) {
  QuantizeReport local;
  QuantizeReport& r = report ? *report : local;
  QuantizeOptions options = o.quantize;
  options.rounding = o.rounding == "fixed31_single"   ? Rounding::fixed31_single
                     : o.rounding == "fixed31_double" ? Rounding::fixed31_double
                                                      : Rounding::f32_even;
  Graph out = quantize(optimised, make_calibration(optimised, o, image, fallback), options, &r);
  for (const std::string& w : r.warnings) warn(w);
  for (const Unreadable& u : r.unreadable) warn(u.name + ": " + u.why);
  return out;
}

}  // namespace longshore
