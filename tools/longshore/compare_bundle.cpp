#include "compare_bundle.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "compile/bundle_file.hpp"
#include "compile/choices.hpp"
#include "compile/compile.hpp"
#include "program/codec.hpp"
#include "progress.hpp"
#include "read/read.hpp"

namespace longshore {
namespace {

bool same(const Program& a, const Program& b) {
  const auto bytes = [](const Program& p) {
    return p.constants ? p.constants->bytes() : std::span<const std::byte>();
  };
  return encode(a) == encode(b) && std::ranges::equal(bytes(a), bytes(b));
}

/// A view has the bytes of its input and no place of its own: what other dims make of them is held
/// against the reference.
void add_views(const Graph& g, std::span<const Tensor> inputs, Values& values) {
  const auto bytes_of = [&](ValueId v) -> const Tensor* {
    if (const Tensor* t = g.constant(v)) return t;
    for (std::size_t i = 0; i < g.inputs.size(); i++)
      if (g.inputs[i] == v) return &inputs[i];
    const auto it = values.find(g[v].name);
    return it == values.end() ? nullptr : &it->second;
  };
  for (const Node& n : g.nodes) {
    const ValueId v = n.output();
    if (!n.op->view || v == no_value || values.contains(g[v].name)) continue;
    const std::optional<Shape> shape = g[v].type.shape();
    const Tensor* from = bytes_of(n.inputs[0]);
    if (from && shape && shape->elements() == from->elements())
      values[g[v].name] = {g[v].type.dtype, *shape, from->blob};
  }
}

}  // namespace

std::vector<std::string> ComparedBundle::nodes_of(std::size_t layer) const {
  std::vector<std::string> out;
  if (const auto found = layers.find(layer); found != layers.end())
    for (const std::size_t node : found->second) out.push_back(graph.nodes[node].origin.name);
  else
    out.push_back(graph.nodes[layer].origin.name);  // a step of the CPU
  return out;
}

ComparedBundle compile_compared(const std::string& file, Graph graph, const Target& target,
                                std::string_view choices) {
  compile::Options options;
  options.model.emplace().graph = std::move(graph);
  options.source.path = file;
  options.first = compile::Stage::place;
  options.target = target;
  compile::choose_all(options, choices);
  options.taps = true;
  options.verify = options.predict = false;
  compile::Compiled c = compile::compile(options);
  ComparedBundle out;
  out.file = file;
  out.graph = std::move(c.graph);
  out.target = target;
  out.choices = choices;
  for (std::size_t i = 0; i < c.plan.placement.nodes.size(); i++)
    if (c.plan.placement.nodes[i].on_npu()) out.npu.insert(i);
  for (const plan::Layer& l : c.plan.layers)
    for (const plan::Stage& stage : l.stages) out.layers[l.head()].insert(stage.node);
  out.tapped = std::move(c.tapped);
  for (ValueId v : out.tapped->without_bytes) out.without_bytes.insert(out.graph[v].name);
  out.program = std::move(c.program);
  return out;
}

ComparedBundle open_compared(const std::string& path) {
  std::optional<compile::BundleFile> bundle = compile::open_bundle(path);
  if (!bundle) fail(Code::bad_argument, path, ": a bundle made by build expected, it is a model");
  Graph graph = read_bundle_graph(path).graph;
  if (!bundle->program.machine.present) {
    ComparedBundle out;
    out.file = path;
    out.graph = std::move(graph);
    out.program = std::move(bundle->program);
    return out;
  }
  ComparedBundle out = compile_compared(
      path, std::move(graph), parse_target(bundle->bundle.text(Section::target), path + ": target"),
      bundle->bundle.text(Section::choices));
  if (!same(out.program, bundle->program))
    fail(
        Code::bad_model, path,
        ": its program is not what this version of longshore makes of its graph and target, so its "
        "layers cannot be looked at: build it anew");
  out.program = std::move(bundle->program);
  return out;
}

BundleComparison::BundleComparison(const ComparedBundle& b, const Program& shipped,
                                   const Program& tapped)
    : bundle_(b),
      shipped_(b.graph, shipped),
      tapped_(b.graph, tapped),
      layers_(b.graph, Strictness::bytes) {
  for (std::size_t i = 0; i < b.graph.outputs.size(); i++) {
    LayerDifference l;
    const Value& v = b.graph[b.graph.outputs[i]];
    const Node* def = b.graph.def(b.graph.outputs[i]);
    l.node = def ? def->origin.name : v.name;
    l.op = "output of the shipped program";
    l.value = v.name;
    l.position = def ? static_cast<std::size_t>(v.def) : b.graph.nodes.size();
    l.type = v.type;
    outputs_.push_back(l);
  }
}

void BundleComparison::add(std::span<const Tensor> inputs) {
  // The predicted order first, then others that the semaphores allow: the bytes must be the same.
  const std::vector<Tensor> got = shipped_.run(inputs, layers_.samples());
  tapped_.run(inputs);
  Values values = tapped_.cpu_values();
  const lower::Tapped& taps = *bundle_.tapped;
  for (std::size_t i = 0; i < taps.values.size(); i++)
    values[bundle_.graph[taps.values[i]].name] = tapped_.value(taps.at[i]);
  add_views(bundle_.graph, inputs, values);
  const std::size_t sample = layers_.samples();
  const std::vector<Tensor> want = layers_.add_entire(inputs, values);
  for (std::size_t i = 0; i < want.size(); i++)
    outputs_[i].difference.add(got.at(i).view(), want[i].view(), {}, sample);
}

CompareReport BundleComparison::report() const {
  CompareReport r;
  r.file = bundle_.file;
  r.got = "the simulator";
  r.want = "the quantised reference";
  r.samples = layers_.samples();
  r.layers = layers_.layers();
  r.layers.insert(r.layers.end(), outputs_.begin(), outputs_.end());
  r.npu = bundle_.npu;
  r.missing = layers_.missing();
  for (NotCompared& m : r.missing)
    if (m.reason.empty() && bundle_.without_bytes.contains(m.value))
      m.reason = "it shows bytes that the NPU did not make";
  return r;
}

CompareReport compare_simulator(const ComparedBundle& b, std::size_t samples,
                                const SampleSource& sample) {
  // Both were made here, of a graph and a target that were read.
  compile::prove(b.program, "the program of " + b.file);
  compile::prove(b.tapped->program, "the program of " + b.file + " with taps");
  BundleComparison comparison(b, b.program, b.tapped->program);
  Progress progress("comparing");
  for (std::size_t i = 0; i < samples; i++) {
    comparison.add(sample(i));
    progress.update(i + 1, samples);
  }
  return comparison.report();
}

}  // namespace longshore
