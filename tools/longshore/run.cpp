#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <numeric>
#include <set>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "command.hpp"
#include "engine.hpp"
#include "sim/schedule.hpp"
#include "tensor/visit.hpp"
#include "write/npy.hpp"

namespace longshore::commands {
namespace {

namespace fs = std::filesystem;

struct Options {
  EngineOptions engine;
  std::string output_dir, labels;
  int top = 0, repeat = 1;
  bool json = false;
};

/// "/" becomes "_"; two outputs whose names become one are an error.
std::vector<std::string> file_names(const std::vector<std::string>& names) {
  std::vector<std::string> out;
  std::set<std::string> taken;
  for (std::string name : names) {
    std::replace(name.begin(), name.end(), '/', '_');
    if (name.empty() || name == "." || name == "..") name = "output_" + std::to_string(out.size());
    if (!taken.insert(name).second)
      fail(Code::bad_argument, "--output-dir: two outputs would both be written to '", name, ".npy'");
    out.push_back(name + ".npy");
  }
  return out;
}

void write_outputs(const std::string& folder, const std::vector<std::string>& names, const std::vector<Tensor>& outputs) {
  const std::vector<std::string> files = file_names(names);
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail(Code::io, "--output-dir ", folder, ": ", error.message());
  for (std::size_t i = 0; i < outputs.size(); i++) write_npy((fs::path(folder) / files[i]).string(), outputs[i]);
}

std::vector<std::string> read_labels(const std::string& path) {
  std::vector<std::string> lines;
  if (path.empty()) return lines;
  std::ifstream file(path);
  if (!file) fail(Code::io, "--labels ", path, ": cannot be read");
  for (std::string line; std::getline(file, line);) {
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
    lines.push_back(line);
  }
  return lines;
}

struct Scored {
  std::int64_t index;
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

/// What people want to see of a tensor: its range and a few elements.
std::string describe(const Tensor& t) {
  std::string out = print(TensorType(t.dtype, t.shape));
  const std::vector<double> x = numbers(t);
  if (x.empty()) return out;
  const auto [low, high] = std::minmax_element(x.begin(), x.end());
  out += str("  min ", *low, "  max ", *high, "  {");
  for (std::size_t i = 0; i < std::min<std::size_t>(x.size(), 6); i++) out += str(i ? ", " : "", x[i]);
  return out + (x.size() > 6 ? ", ...}" : "}");
}

int run(const Options& o) {
  const std::vector<std::string> labels = read_labels(o.labels);
  Engine engine(o.engine);
  double best_ms = 0;
  for (int i = 0; i < o.repeat; i++) {
    const auto start = std::chrono::steady_clock::now();
    engine.run();
    const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    best_ms = i == 0 ? ms : std::min(best_ms, ms);
  }
  const std::vector<std::string> names = engine.output_names();
  const std::vector<Tensor> outputs = engine.outputs();
  if (!o.output_dir.empty()) write_outputs(o.output_dir, names, outputs);

  nlohmann::json list = nlohmann::json::array();
  for (std::size_t i = 0; i < outputs.size(); i++) {
    nlohmann::json entry = {{"name", names[i]}, {"dtype", name(outputs[i].dtype)},
                            {"shape", std::vector<std::int64_t>(outputs[i].shape.begin(), outputs[i].shape.end())}};
    if (!o.json) std::cout << names[i] << ": " << describe(outputs[i]) << "\n";
    if (o.top > 0) {
      nlohmann::json top = nlohmann::json::array();
      for (const Scored& s : best_of(outputs[i], o.top)) {
        const std::string label = std::cmp_less(s.index, labels.size()) ? labels[static_cast<std::size_t>(s.index)] : "";
        top.push_back({{"index", s.index}, {"value", s.value}, {"label", label}});
        if (!o.json) std::cout << "  " << s.index << (label.empty() ? "" : " " + label) << "  " << s.value << "\n";
      }
      entry["top"] = top;
    }
    list.push_back(entry);
  }
  if (!o.json) {
    std::cout << best_ms << " ms on " << engine.where() << ", " << engine.precision() << "\n";
    if (const Timing* t = engine.timing()) std::cout << "predicted on the target: " << t->total_ns / 1e6 << " ms\n";
    return exit_code::yes;
  }
  nlohmann::json j = {{"model", o.engine.model.path}, {"on", engine.where()}, {"precision", engine.precision()},
                            {"threads", engine.threads()},  {"ms", best_ms},        {"outputs", list}};
  if (const Timing* t = engine.timing()) j["latency_ms"] = t->total_ns / 1e6;
  std::cout << j.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
  return exit_code::yes;
}

std::function<int()> setup(CLI::App& app) {
  const auto o = std::make_shared<Options>();
  add_engine_options(app, o->engine);
  add_input_options(app, o->engine.inputs);
  app.add_option("--on", o->engine.on, "auto, cpu, reference, or sim (bundles for an NPU); auto")
      ->check(CLI::IsMember({"auto", "cpu", "reference", "sim"}));
  app.add_option("--output-dir", o->output_dir, "Writes each output as NAME.npy there ('/' becomes '_')");
  app.add_option("--top", o->top, "Shows the K largest elements of each output")->check(CLI::Range(1, 100000));
  app.add_option("--labels", o->labels, "A text file, line N for element N, for --top");
  app.add_option("--repeat", o->repeat, "Runs so many times and shows the shortest time; 1")->check(CLI::Range(1, 1000000));
  app.add_flag("--json", o->json, "One JSON object on one line");
  return [o] { return run(*o); };
}

}  // namespace

extern constinit const Command command_run = {
    .name = "run",
    .doc = "Runs a model on files or on random data",
    .setup = setup,
};

}  // namespace longshore::commands
