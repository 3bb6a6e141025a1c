#include <filesystem>
#include <iostream>
#include <memory>
#include <set>
#include <unordered_set>

#include "base/error.hpp"
#include "calibrate.hpp"
#include "command.hpp"
#include "compile/bundle_file.hpp"
#include "json.hpp"
#include "model_options.hpp"

namespace longshore::commands {
namespace {

struct Options {
  ModelOptions model;
  bool json = false, text = false, optimised = false;
};

/// What there is to say about a model.
struct Facts {
  std::map<std::string, std::size_t> operators;
  std::size_t nodes = 0, subgraphs = 0, nodes_without_macs = 0;
  std::int64_t macs = 0, parameters = 0;
  std::uint64_t parameter_bytes = 0;
  std::set<std::string> dynamic_dims;
  bool macs_at_batch_1 = false;  // the batch is unknown, 1 was taken
  std::unordered_set<const Blob*> counted;
};

bool fully_known(const Graph& g, const Node& n) {
  for (const auto* list : {&n.inputs, &n.outputs})
    for (ValueId v : *list)
      if (v != no_value && (g[v].type.dtype == DType::undefined || !g[v].type.shape()))
        return false;
  return true;
}

void gather(const Graph& g, Facts& f) {
  for (const Value& v : g.values) {
    if (!v.constant.present() || !f.counted.insert(v.constant.blob.get()).second) continue;
    f.parameters += v.constant.elements();
    f.parameter_bytes += v.constant.bytes();
  }
  for (const Node& n : g.nodes) {
    f.nodes++;
    f.operators[qualified_name(*n.op)]++;
    if (n.op->macs) {
      if (fully_known(g, n))
        f.macs += n.op->macs(NodeTypes{n, g});
      else
        f.nodes_without_macs++;
    }
    for (const Subgraph& s : n.subgraphs) {
      f.subgraphs++;
      gather(s.body, f);
    }
  }
}

/// Where only the first dims of inputs are unknown, 1 is what a reader of the number expects.
void count_at_batch_1(const Graph& g, Facts& f) {
  InferOptions options;
  for (ValueId v : g.inputs) {
    const TensorType& t = g[v].type;
    if (!t.ranked || t.rank() > max_rank) return;
    Shape shape;
    for (const Dim& d : t.dims) shape.push(d.known() ? d.value : 1);
    for (std::size_t i = 1; i < t.dims.size(); i++)
      if (!t.dims[i].known()) return;
    options.input_shapes[g[v].name] = shape;
  }
  try {
    Facts at_1;
    gather(infer(g, options), at_1);
    if (at_1.nodes_without_macs > 0) return;
    f.macs = at_1.macs;
    f.nodes_without_macs = 0;
    f.macs_at_batch_1 = true;
  } catch (const Error&) {  // a batch of 1 may be impossible
  }
}

Json value_json(const Graph& g, ValueId v) {
  Json dims = Json::array();
  for (const Dim& d : g[v].type.dims)
    if (d.known())
      dims.push_back(d.value);
    else
      dims.push_back(d.symbol.empty() ? "?" : d.symbol);
  return {{"name", g[v].name},
          {"type", name(g[v].type.dtype)},
          {"dims", g[v].type.ranked ? dims : Json()}};
}

/// What a bundle holds besides its graph.
struct BundleFacts {
  std::string target;
  std::size_t steps = 0, instructions = 0;
  std::uint64_t arena_bytes = 0, constants_bytes = 0, file_bytes = 0;
  std::string pictures;  // how they are read: options, a space between
};

std::optional<BundleFacts> bundle_facts(const std::string& path) {
  const std::optional<compile::BundleFile> file = compile::open_bundle(path);
  if (!file) return {};
  BundleFacts f;
  f.target = file->program.machine.present ? file->program.machine.name : "cpu";
  f.steps = file->program.steps.size();
  for (const auto& queue : file->program.queues) f.instructions += queue.size();
  f.arena_bytes = file->program.arena_bytes;
  f.constants_bytes = file->bundle.constants()->size();
  f.file_bytes = std::filesystem::file_size(path);
  f.pictures = file->bundle.text(Section::pictures);
  if (!f.pictures.empty()) f.pictures.pop_back();
  std::ranges::replace(f.pictures, '\n', ' ');
  return f;
}

void show(const BundleFacts& b) {
  std::cout << "  bundle       for " << b.target << ", "
            << shown_count(static_cast<double>(b.file_bytes)) << "B: " << b.steps << " CPU steps, "
            << b.instructions << " NPU instructions, arena "
            << shown_count(static_cast<double>(b.arena_bytes)) << "B, constants "
            << shown_count(static_cast<double>(b.constants_bytes)) << "B\n";
  if (!b.pictures.empty()) std::cout << "  pictures     " << b.pictures << "\n";
}

void show(const Options& o, const ReadResult& model, const Facts& f) {
  const Graph& g = model.graph;
  std::cout << o.model.path << (g.name.empty() ? "" : ": " + g.name) << "\n";
  if (model.opset)
    std::cout << "  opset        " << model.opset
              << (model.producer.empty() ? "" : ", by " + model.producer) << "\n";
  for (const auto& [title, list] :
       {std::pair("  input        ", &g.inputs), std::pair("  output       ", &g.outputs)})
    for (ValueId v : *list) std::cout << title << g[v].name << ": " << print(g[v].type) << "\n";
  for (const auto& [name, t] : model.defaults)
    std::cout << "  constant     " << name << ": " << print(TensorType(t.dtype, t.shape))
              << " (an input with a default)\n";
  std::cout << "  nodes        " << f.nodes
            << (f.subgraphs ? str(" in ", f.subgraphs + 1, " graphs") : "") << "\n"
            << "  parameters   " << shown_count(static_cast<double>(f.parameters)) << " ("
            << shown_count(static_cast<double>(f.parameter_bytes)) << "B)\n  MACs         "
            << (f.nodes_without_macs ? "at least " : "") << shown_count(static_cast<double>(f.macs))
            << (f.nodes_without_macs ? str("; ", f.nodes_without_macs, " nodes have unknown dims")
                                     : "")
            << (f.macs_at_batch_1 ? " at batch 1" : "") << "\n";
  if (!f.dynamic_dims.empty()) {
    std::cout << "  dynamic dims ";
    for (const std::string& d : f.dynamic_dims)
      std::cout << (d == *f.dynamic_dims.begin() ? "" : ", ") << d;
    std::cout << " (--dim NAME=N gives one a size)\n";
  }
  std::string operators;
  for (const auto& [name, count] : f.operators)
    operators += (operators.empty() ? "" : " ") + str(name, "(", count, ")");
  std::cout << "  operators    " << wrapped(operators, 15, 15) << "\n";
}

int run(const Options& o) {
  ReadResult model;
  try {
    model = load_model(o.model);
  } catch (const Error& e) {
    if (e.code() != Code::unsupported) throw;
    // A well-formed model that cannot run: the answer is no.
    if (o.json)
      print_json(
          {{"file", o.model.path}, {"runnable", false}, {"reasons", Json::array({e.what()})}});
    else
      std::cout << o.model.path << "\n  cannot run: " << e.what() << "\n";
    return exit_code::no;
  }
  if (o.optimised) {
    compile::Options options;
    options.source.path = o.model.path;
    options.model = model;
    options.last = compile::Stage::optimise;
    model.graph = compile_shown(options).graph;
  }
  const Graph& g = model.graph;
  if (o.text) {
    std::cout << summary(g);
    return exit_code::yes;
  }
  Facts f;
  gather(g, f);
  if (f.nodes_without_macs > 0) count_at_batch_1(g, f);
  for (ValueId v : g.inputs)
    for (const Dim& d : g[v].type.dims)
      if (!d.known()) f.dynamic_dims.insert(d.symbol.empty() ? "?" : d.symbol);
  const std::optional<BundleFacts> bundle = bundle_facts(o.model.path);
  if (!o.json) {
    show(o, model, f);
    if (bundle) show(*bundle);
    return exit_code::yes;
  }
  Json inputs = Json::array(), outputs = Json::array();
  for (ValueId v : g.inputs) inputs.push_back(value_json(g, v));
  for (ValueId v : g.outputs) outputs.push_back(value_json(g, v));
  Json in_bundle;  // null for other files
  if (bundle)
    in_bundle = {{"target", bundle->target},
                 {"steps", bundle->steps},
                 {"instructions", bundle->instructions},
                 {"arena_bytes", bundle->arena_bytes},
                 {"constants_bytes", bundle->constants_bytes},
                 {"file_bytes", bundle->file_bytes},
                 {"pictures", bundle->pictures.empty() ? Json() : Json(bundle->pictures)}};
  print_json({{"file", o.model.path},
              {"bundle", in_bundle},
              {"runnable", true},
              {"reasons", Json::array()},
              {"opset", model.opset},
              {"producer", model.producer},
              {"metadata", model.metadata},
              {"inputs", inputs},
              {"outputs", outputs},
              {"nodes", f.nodes},
              {"operators", f.operators},
              {"parameters", f.parameters},
              {"parameter_bytes", f.parameter_bytes},
              {"macs", f.macs},
              {"macs_complete", f.nodes_without_macs == 0},
              {"macs_at_batch_1", f.macs_at_batch_1},
              {"dynamic_dims", f.dynamic_dims},
              {"warnings", model.warnings}});
  return exit_code::yes;
}

std::function<int()> setup(CommandLine& app) {
  const auto o = std::make_shared<Options>();
  add_model_options(app, o->model);
  app.add_flag("--optimise,--optimize", o->optimised, "Looks at the optimised graph");
  app.add_flag("--text", o->text, "Prints the graph, large constants in short");
  app.add_flag("--json", o->json, "One JSON object on one line");
  return [o] { return run(*o); };
}

}  // namespace

extern constinit const Command command_inspect = {
    .name = "inspect",
    .doc = "Says what a model is: inputs, outputs, operators, cost; exits 1 if it cannot run",
    .setup = setup,
};

}  // namespace longshore::commands
