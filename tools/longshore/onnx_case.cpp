#include "onnx_case.hpp"

#include <algorithm>
#include <fstream>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "ir/op.hpp"
#include "measure/runner.hpp"
#include "optimize/optimize.hpp"
#include "read/read.hpp"

namespace longshore {
namespace {

namespace fs = std::filesystem;

void read_settings(OnnxCase& c) {
  const fs::path file = c.folder / "case.json";
  if (!fs::exists(file)) return;
  std::ifstream in(file);
  const auto json = nlohmann::json::parse(in, nullptr, false);
  if (!json.is_object()) fail(Code::bad_argument, file.string(), ": not a JSON object");
  try {
    const std::string kind = json.value("kind", "values");
    if (kind == "values")
      c.kind = OnnxCase::Kind::values;
    else if (kind == "same-as-unoptimised")
      c.kind = OnnxCase::Kind::same_as_unoptimised;
    else if (kind == "reject")
      c.kind = OnnxCase::Kind::reject;
    else if (kind == "no-crash")
      c.kind = OnnxCase::Kind::no_crash;
    else
      fail(Code::bad_argument, file.string(), ": there is no kind '", kind, "'");
    c.tolerance.rtol = json.value("rtol", c.tolerance.rtol);
    c.tolerance.atol = json.value("atol", c.tolerance.atol);
    c.refusal_ok = json.value("refusal_ok", false);
  } catch (const nlohmann::json::exception& e) {
    fail(Code::bad_argument, file.string(), ": ", e.what());
  }
}

/// input_0.pb, input_1.pb, ... as far as they go.
std::vector<fs::path> numbered(const fs::path& folder, const std::string& stem) {
  std::vector<fs::path> out;
  for (;;) {
    const fs::path file = folder / str(stem, "_", out.size(), ".pb");
    if (!fs::exists(file)) return out;
    out.push_back(file);
  }
}

struct DataSet {
  std::vector<fs::path> inputs, outputs;
};

std::vector<DataSet> data_sets(const OnnxCase& c) {
  std::vector<DataSet> out;
  for (;;) {
    const fs::path folder = c.folder / str("test_data_set_", out.size());
    if (!fs::is_directory(folder)) return out;
    out.push_back({numbered(folder, "input"), numbered(folder, "output")});
  }
}

/// The files go by position over the declared inputs; the rest are constants by now.
std::vector<Tensor> read_inputs(const ReadResult& model, const DataSet& set) {
  std::vector<Tensor> out;
  for (ValueId v : model.graph.inputs) {
    const std::string& name = model.graph[v].name;
    const auto at = std::ranges::find(model.declared_inputs, name) - model.declared_inputs.begin();
    if (static_cast<std::size_t>(at) < set.inputs.size()) {
      out.push_back(read_tensor(set.inputs[static_cast<std::size_t>(at)].string()));
    } else if (const auto it = model.defaults.find(name); it != model.defaults.end()) {
      out.push_back(it->second);
    } else {
      fail(Code::bad_argument, "there is no file for input '", name, "'");
    }
  }
  return out;
}

/// A loaded model.
using Run = std::function<std::vector<Tensor>(std::span<const Tensor>)>;

Run load(const Graph& graph, Engine engine) {
  if (engine == Engine::cpu) {
    const auto runner = std::make_shared<Runner>(graph);
    return [runner](std::span<const Tensor> inputs) { return runner->run(inputs); };
  }
  return [&graph](std::span<const Tensor> inputs) { return evaluate(graph, inputs); };
}

/// Runs all data sets on one loaded model, then judges all: an earlier answer must survive later
/// runs.
std::string judge(const OnnxCase& c, const ReadResult& model, const Graph& graph, Engine engine) {
  const std::vector<DataSet> sets = data_sets(c);
  if (sets.empty() && c.kind != OnnxCase::Kind::reject && c.kind != OnnxCase::Kind::no_crash)
    return "it has no test_data_set_0";
  const Run run = load(graph, engine);
  std::vector<std::vector<Tensor>> answers;
  for (const DataSet& set : sets) answers.push_back(run(read_inputs(model, set)));
  for (std::size_t s = 0; s < sets.size(); s++) {
    if (sets[s].outputs.size() > answers[s].size())
      return str("there are ", sets[s].outputs.size(), " output files, the model gives ",
                 answers[s].size());
    for (std::size_t i = 0; i < sets[s].outputs.size(); i++) {
      const std::string found =
          difference(answers[s][i], read_tensor(sets[s].outputs[i].string()), c.tolerance);
      if (!found.empty())
        return str("data set ", s, ", output '", graph[graph.outputs[i]].name, "': ", found);
    }
  }
  return {};
}

}  // namespace

std::vector<OnnxCase> find_cases(const fs::path& path) {
  std::vector<OnnxCase> out;
  const auto add = [&](const fs::path& folder) {
    if (!fs::exists(folder / "model.onnx")) return;
    OnnxCase c;
    c.folder = folder;
    c.name = fs::absolute(folder).lexically_normal().filename().string();
    if (c.name.empty())
      c.name = fs::absolute(folder).lexically_normal().parent_path().filename().string();
    read_settings(c);
    out.push_back(std::move(c));
  };
  if (!fs::is_directory(path)) fail(Code::io, "'", path.string(), "' is not a folder");
  add(path);
  if (out.empty())
    for (const fs::directory_entry& entry : fs::directory_iterator(path))
      if (entry.is_directory()) add(entry.path());
  if (out.empty())
    fail(Code::io, "'", path.string(), "' holds no model.onnx, nor does a folder in it");
  std::ranges::sort(out, {}, &OnnxCase::name);
  return out;
}

std::string run_case(const OnnxCase& c, Engine engine, bool optimised) {
  const bool may_refuse =
      c.refusal_ok || c.kind == OnnxCase::Kind::reject || c.kind == OnnxCase::Kind::no_crash;
  try {
    ReadOptions options;
    for (const DataSet& set : data_sets(c))
      options.keep_first_inputs = std::max(options.keep_first_inputs, set.inputs.size());
    const ReadResult model = read_onnx((c.folder / "model.onnx").string(), options);
    std::string found = judge(c, model, model.graph, engine);
    if (found.empty() && (optimised || c.kind == OnnxCase::Kind::same_as_unoptimised)) {
      found = judge(c, model, optimize(model.graph), engine);
      if (!found.empty()) found = "optimised: " + found;
    }
    if (c.kind == OnnxCase::Kind::reject) return "an error was expected, but the model ran";
    return c.kind == OnnxCase::Kind::no_crash ? std::string() : found;
  } catch (const Error& e) {
    return may_refuse && e.code() != Code::internal ? std::string() : e.what();
  } catch (const std::exception& e) {
    return str("not a clean error: ", e.what());
  }
}

}  // namespace longshore
