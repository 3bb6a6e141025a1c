#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <limits>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "base/error.hpp"
#include "build_report.hpp"
#include "command.hpp"
#include "engine.hpp"
#include "command_line.hpp"
#include "json.hpp"
#include "labels.hpp"
#include "sim/simulate.hpp"
#include "tensor/visit.hpp"
#include "write/npy.hpp"

namespace longshore::commands {
namespace {

namespace fs = std::filesystem;

struct Options {
  EngineOptions engine;
  std::vector<std::string> each, carry;
  std::string output_dir, labels;
  int top = 0, repeat = 1;
  bool json = false, timing_only = false;
};

/// The predicted time of a bundle's program, without computing a byte of its outputs.
int predict_only(const Options& o) {
  const std::string& path = o.engine.model.path;
  const std::optional<compile::BundleFile> bundle = compile::open_bundle(path);
  if (!bundle)
    fail(Code::bad_argument, "--timing-only needs a bundle made by build; ", path, " is a model");
  const Program& program = bundle->program;
  if (!program.machine.present)
    fail(Code::bad_argument, "--timing-only: ", path,
         " is for the CPU; build it with --target of an NPU");
  std::size_t instructions = program.steps.size();
  for (const auto& queue : program.queues) instructions += queue.size();
  const auto start = std::chrono::steady_clock::now();
  const Result<Timing> timing = predict(program);
  const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start;
  require(timing.status(), path);
  if (o.json) {
    Json j = {{"model", path},
              {"latency_ms", timing->total_ns / 1e6},
              {"instructions", instructions},
              {"simulation_ms", spent.count()},
              {"warnings", warnings()}};
    for (int a = 0; a < activity_count; a++)
      j["split_ms"][name(Activity(a))] = timing->time.ns[a] / 1e6;
    print_json(j);
    return exit_code::yes;
  }
  std::cout << "target " << program.machine.name << ": " << shown_ms(timing->total_ns / 1e6)
            << " predicted\n"
            << split_line(timing->time) << "  " << instructions
            << " instructions and steps simulated in " << shown_ms(spent.count()) << "\n";
  return exit_code::yes;
}

/// "/" becomes "_"; two outputs whose names become one are an error.
std::vector<std::string> file_names(const std::vector<std::string>& names) {
  std::vector<std::string> out;
  std::set<std::string> taken;
  for (std::string name : names) {
    std::replace(name.begin(), name.end(), '/', '_');
    if (name.empty() || name == "." || name == "..") name = "output_" + std::to_string(out.size());
    if (!taken.insert(name).second)
      fail(Code::bad_argument, "--output-dir: two outputs would both be written to '", name,
           ".npy'");
    out.push_back(name + ".npy");
  }
  return out;
}

void write_outputs(const std::string& folder, const std::vector<std::string>& names,
                   const std::vector<Tensor>& outputs) {
  const std::vector<std::string> files = file_names(names);
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail(Code::io, "--output-dir ", folder, ": ", error.message());
  for (std::size_t i = 0; i < outputs.size(); i++)
    write_npy((fs::path(folder) / files[i]).string(), outputs[i]);
}

struct Scored {
  std::int64_t index;  // in row-major order
  double value;
};

std::vector<double> numbers(const Tensor& t) {
  std::vector<double> out;
  visit_type(NumberTypes{}, t.dtype, [&]<class T>() {
    for (const T& x : t.values<T>()) out.push_back(static_cast<double>(x));
  });
  return out;
}

/// The k largest elements; of equal ones the first, NaN last.
std::vector<Scored> best_of(const Tensor& t, int k) {
  const std::vector<double> x = numbers(t);
  std::vector<std::int64_t> order(x.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    const double p = x[static_cast<std::size_t>(a)], q = x[static_cast<std::size_t>(b)];
    return std::isnan(q) ? !std::isnan(p) : p > q;
  });
  std::vector<Scored> out;
  for (std::int64_t i : order)
    if (std::cmp_less(out.size(), k)) out.push_back({i, x[static_cast<std::size_t>(i)]});
  return out;
}

/// Parts of one, where the tensor is one row of scores: the scores themselves if they are
/// probabilities, else their softmax. Empty for other tensors.
std::vector<double> probabilities(const Tensor& t) {
  const bool real = type_set::float_types.has(t.dtype) && t.shape.rank > 0;
  const std::int64_t last = real ? t.shape[t.shape.rank - 1] : 0;
  if (last < 2 || last != t.elements()) return {};
  std::vector<double> x = numbers(t);
  double sum = 0, largest = -std::numeric_limits<double>::infinity();
  bool in_range = true;
  for (const double v : x) {
    if (!std::isfinite(v)) return {};
    in_range &= v >= 0 && v <= 1;
    largest = std::max(largest, v);
    sum += v;
  }
  if (in_range && std::abs(sum - 1) < 0.02) return x;
  sum = 0;
  for (double& v : x) sum += v = std::exp(v - largest);
  for (double& v : x) v /= sum;
  return x;
}

/// The index on each axis.
std::vector<std::int64_t> position_of(const Shape& shape, std::int64_t flat) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(shape.rank));
  for (int axis = shape.rank; axis-- > 0; flat /= shape[axis])
    out[static_cast<std::size_t>(axis)] = flat % shape[axis];
  return out;
}

/// The best `k` elements, on stdout unless `quiet`, and as JSON.
Json show_top(const Tensor& t, int k, const std::vector<std::string>& labels, bool quiet) {
  const std::vector<double> part = probabilities(t);
  const bool one_row = t.shape.rank > 0 && t.shape[t.shape.rank - 1] == t.elements();
  Json out = Json::array();
  for (const Scored& s : best_of(t, k)) {
    const std::vector<std::int64_t> at = position_of(t.shape, s.index);
    const auto row =
        static_cast<std::size_t>(at.empty() ? 0 : at.back());  // labels name the last axis
    const std::string label = row < labels.size() ? labels[row] : "";
    Json entry = {{"index", s.index}, {"at", at}, {"value", s.value}, {"label", label}};
    const auto index = static_cast<std::size_t>(s.index);
    entry["percent"] = part.empty() ? Json() : Json(part[index] * 100);
    out.push_back(entry);
    if (quiet) continue;
    std::string where = std::to_string(s.index);
    if (!one_row) {
      where = "[";
      for (std::size_t i = 0; i < at.size(); i++) where += str(i ? "," : "", at[i]);
      where += "]";
    }
    std::cout << "  " << where << (label.empty() ? "" : " " + label);
    if (!part.empty()) std::cout << fmt::format("  {:.2f} %", part[index] * 100);
    std::cout << "  " << s.value << "\n";
  }
  return out;
}

/// Of the last axis, which labels name.
void check_labels(const std::vector<std::string>& labels, const std::string& file,
                  const std::string& output, const Tensor& t) {
  const std::int64_t last = t.shape.rank > 0 ? t.shape[t.shape.rank - 1] : 1;
  if (!labels.empty() && !std::cmp_equal(labels.size(), last))
    warn(str("--labels ", file, " has ", labels.size(), " lines; output '", output, "' has ", last,
             " elements on its last axis"));
}

/// What people want to see of a tensor: its range and a few elements.
std::string describe(const Tensor& t) {
  std::string out = print(TensorType(t.dtype, t.shape));
  const std::vector<double> x = numbers(t);
  if (x.empty()) return out;
  const auto [low, high] = std::minmax_element(x.begin(), x.end());
  out += str("  min ", *low, "  max ", *high, "  {");
  for (std::size_t i = 0; i < std::min<std::size_t>(x.size(), 6); i++)
    out += str(i ? ", " : "", x[i]);
  return out + (x.size() > 6 ? ", ...}" : "}");
}

double run_once(ModelEngine& engine) {
  const auto start = std::chrono::steady_clock::now();
  engine.run();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

/// "NAME=REST", both there.
std::pair<std::string, std::string> split(const std::string& option, const std::string& text) {
  const std::size_t at = text.find('=');
  if (at == std::string::npos || at == 0 || at + 1 == text.size())
    fail(Code::bad_argument, option, " ", text, ": NAME=... expected");
  return {text.substr(0, at), text.substr(at + 1)};
}

std::size_t position(const std::vector<std::string>& names, const std::string& name,
                     const std::string& option) {
  const auto it = std::ranges::find(names, name);
  if (it == names.end()) {
    std::string all;
    for (const std::string& n : names) all += (all.empty() ? "'" : ", '") + n + "'";
    fail(Code::bad_argument, option, ": there is no '", name, "'; there are ", all);
  }
  return static_cast<std::size_t>(it - names.begin());
}

/// Element i of the first axis.
Tensor slice(const Tensor& t, std::int64_t i) {
  const Shape dims(std::span<const std::int64_t>(t.shape.begin() + 1, t.shape.end()));
  const std::size_t size = t.bytes() / static_cast<std::size_t>(t.shape[0]);
  return {t.dtype, dims,
          copy_blob(t.blob->bytes().data() + static_cast<std::size_t>(i) * size, size)};
}

/// Runs once for each element of the first axis of the --each files, handing --carry outputs back
/// to their inputs; the outputs of all runs are stacked along a new first axis.
std::vector<Tensor> run_stream(const Options& o, double& ms, std::optional<ModelEngine>& engine) {
  std::map<std::string, Tensor> files;
  std::int64_t steps = -1;
  EngineOptions options = o.engine;
  for (const std::string& text : o.each) {
    const auto [name, file] = split("--each", text);
    Tensor t = read_tensor(file);
    if (t.shape.rank < 1 || t.shape[0] < 1)
      fail(Code::bad_argument, "--each ", text, ": the file holds no steps");
    if (steps >= 0 && t.shape[0] != steps)
      fail(Code::bad_argument, "--each ", text, ": ", t.shape[0], " steps, another file has ",
           steps);
    steps = t.shape[0];
    options.given[name] = slice(t, 0);
    files[name] = std::move(t);
  }
  for (const std::string& text : o.carry) options.zero.push_back(split("--carry", text).second);
  engine.emplace(options);
  const std::vector<std::string> inputs = engine->input_names(), outputs = engine->output_names();
  std::vector<std::vector<std::byte>> all(outputs.size());
  std::vector<Tensor> last;
  for (std::int64_t i = 0; i < steps; i++) {
    for (const auto& [name, t] : files)
      engine->set_input(position(inputs, name, "--each"), slice(t, i));
    for (const std::string& text : o.carry) {
      const auto [from, to] = split("--carry", text);
      const std::size_t source = position(outputs, from, "--carry"),
                        target = position(inputs, to, "--carry");
      if (i > 0) engine->set_input(target, last[source]);
    }
    ms += run_once(*engine);
    std::vector<Tensor> now = engine->outputs();
    for (std::size_t k = 0; k < now.size(); k++) {
      if (i > 0 && !(now[k].shape == last[k].shape))
        fail(Code::bad_argument, "output '", outputs[k], "' changes its dims between runs");
      const auto bytes = now[k].blob->bytes().first(now[k].bytes());
      all[k].insert(all[k].end(), bytes.begin(), bytes.end());
    }
    last = std::move(now);
  }
  ms /= static_cast<double>(steps);
  std::vector<Tensor> stacked;
  for (std::size_t k = 0; k < last.size(); k++) {
    if (last[k].shape.rank == max_rank)
      fail(Code::unsupported, "output '", outputs[k], "' has too many dimensions to be stacked");
    Shape dims{steps};
    for (std::int64_t d : last[k].shape) dims.push(d);
    stacked.push_back({last[k].dtype, dims, make_blob(std::move(all[k]))});
  }
  return stacked;
}

int run(const Options& o) {
  const std::vector<std::string> labels = read_labels(o.labels);
  if (!o.carry.empty() && o.each.empty()) fail(Code::bad_argument, "--carry needs --each");
  if (!o.labels.empty() && o.top == 0) warn("--labels changes nothing without --top");
  std::optional<ModelEngine> holder;
  std::vector<Tensor> outputs;
  double best_ms = 0;
  if (!o.each.empty()) {
    outputs = run_stream(o, best_ms, holder);
  } else {
    holder.emplace(o.engine);
    for (int i = 0; i < o.repeat; i++) {
      const double ms = run_once(*holder);
      best_ms = i == 0 ? ms : std::min(best_ms, ms);
    }
    outputs = holder->outputs();
  }
  const ModelEngine& engine = *holder;
  const std::vector<std::string> names = engine.output_names();
  if (!o.output_dir.empty()) write_outputs(o.output_dir, names, outputs);

  Json list = Json::array();
  for (std::size_t i = 0; i < outputs.size(); i++) {
    Json entry = {
        {"name", names[i]},
        {"dtype", name(outputs[i].dtype)},
        {"shape", std::vector<std::int64_t>(outputs[i].shape.begin(), outputs[i].shape.end())}};
    if (!o.json) std::cout << names[i] << ": " << describe(outputs[i]) << "\n";
    if (o.top > 0) {
      check_labels(labels, o.labels, names[i], outputs[i]);
      entry["top"] = show_top(outputs[i], o.top, labels, o.json);
    }
    list.push_back(entry);
  }
  const std::optional<double> predicted = engine.predicted_ms();
  if (!o.json) {
    if (predicted)
      std::cout << "target " << engine.target() << ": " << shown_ms(*predicted) << " predicted\n";
    std::cout << engine.clock() << ": " << shown_ms(best_ms) << ", " << engine.precision() << "\n";
    return exit_code::yes;
  }
  Json j = {{"model", o.engine.model.path},
            {"on", engine.where()},
            {"clock", engine.clock()},
            {"precision", engine.precision()},
            {"threads", engine.threads()},
            {"ms", best_ms},
            {"outputs", list},
            {"target", engine.target().empty() ? Json() : Json(engine.target())},
            {"predicted_ms", predicted},
            {"warnings", warnings()}};
  if (const Timing* t = engine.timing()) j["latency_ms"] = t->total_ns / 1e6;
  print_json(j);
  return exit_code::yes;
}

std::function<int()> setup(CommandLine& app) {
  const auto o = std::make_shared<Options>();
  add_engine_options(app, o->engine);
  add_input_options(app, o->engine.inputs);
  app.add_option(
         "--each", o->each,
         "NAME=FILE: one run for each element of the file's first axis; outputs are stacked")
      .one_at_a_time();
  app.add_option("--carry", o->carry,
                 "OUTPUT=INPUT: with --each, feeds an output to an input of the next run; begins "
                 "with zeros")
      .one_at_a_time();
  app.add_option("--output-dir", o->output_dir,
                 "Writes each output as NAME.npy there ('/' becomes '_')")
      .not_empty();
  app.add_option(
         "--top", o->top,
         "Shows the K largest elements of each output; of one row of scores also in per cent")
      .range(1, 100000);
  app.add_option("--labels", o->labels,
                 "A text file, line N for element N of the last axis, for --top")
      .not_empty();
  app.add_option("--repeat", o->repeat, "Runs so many times and shows the shortest time; 1")
      .range(1, 1000000);
  app.add_flag("--timing-only", o->timing_only,
               "Predicts the time of a bundle for an NPU; computes no outputs");
  app.add_flag("--json", o->json, "One JSON object on one line");
  return [o] { return o->timing_only ? predict_only(*o) : run(*o); };
}

}  // namespace

extern constinit const Command command_run = {
    .name = "run",
    .doc = "Runs a model on files or on random data",
    .setup = setup,
};

}  // namespace longshore::commands
