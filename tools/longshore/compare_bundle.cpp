#include "compare_bundle.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "measure/simulated.hpp"
#include "program/bundle.hpp"
#include "program/codec.hpp"
#include "progress.hpp"
#include "read/read.hpp"
#include "sim/verify.hpp"

namespace longshore {
namespace {

/// Samples that an injected change gets beyond those that were asked for.
constexpr std::size_t patience = 12;

/// Holds shipped program and tap variant, perhaps changed ones, against the reference.
class BundleComparison {
 public:
  BundleComparison(const ComparedBundle& b, const Program& shipped, const Program& tapped)
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

  void add(std::span<const Tensor> inputs) {
    // The predicted order first, then others that the semaphores allow: the bytes must be the same.
    const std::vector<Tensor> got = shipped_.run(inputs, layers_.samples());
    tapped_.run(inputs);
    Values values = tapped_.cpu_values();
    const lower::Tapped& taps = *bundle_.tapped;
    for (std::size_t i = 0; i < taps.values.size(); i++)
      values[bundle_.graph[taps.values[i]].name] = tapped_.value(taps.at[i]);
    const std::size_t sample = layers_.samples();
    const std::vector<Tensor> want = layers_.add_entire(inputs, values);
    for (std::size_t i = 0; i < want.size(); i++)
      outputs_[i].difference.add(got.at(i).view(), want[i].view(), {}, sample);
  }

  CompareReport report() const {
    CompareReport r;
    r.file = bundle_.file;
    r.got = "the simulator";
    r.want = "the quantised reference";
    r.samples = layers_.samples();
    r.layers = layers_.layers();
    r.layers.insert(r.layers.end(), outputs_.begin(), outputs_.end());
    r.npu = bundle_.npu;
    // A view on the NPU has the bytes of its input and no place of its own.
    for (const std::string& name : layers_.missing()) {
      const auto view = std::ranges::any_of(bundle_.graph.nodes, [&](const Node& n) {
        return n.op->form == Form::view && bundle_.graph[n.output()].name == name;
      });
      if (!view) r.missing.push_back(name);
    }
    return r;
  }

 private:
  const ComparedBundle& bundle_;
  SimulatedGraph shipped_, tapped_;
  Comparison layers_;
  std::vector<LayerDifference> outputs_;
};

/// Where the tap variant has what stands at `place` in the shipped program.
Place place_in_tapped(const lower::Tapped& tapped, Place place) {
  const auto& queue = tapped.program.queues[static_cast<int>(place.queue)];
  std::size_t left = place.index;
  for (std::size_t i = 0; i < queue.size(); i++)
    if (!lower::is_tap(tapped, queue[i]) && left-- == 0) return {place.queue, i};
  fail(Code::internal, "the tap variant lacks an instruction of the shipped program");
}

bool same(const Program& a, const Program& b) {
  const auto bytes = [](const Program& p) {
    return p.constants ? p.constants->bytes() : std::span<const std::byte>();
  };
  return encode(a) == encode(b) && std::ranges::equal(bytes(a), bytes(b));
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

std::string InjectReport::instruction() const {
  return str(name(change.queue), "[", change.index, "]");
}

std::string InjectReport::operation() const {
  return name(change.program.queues[static_cast<int>(change.queue)][change.index].operation);
}

ComparedBundle open_compared(const std::string& path) {
  const Result<Bundle> bundle = Bundle::open(path);
  require(bundle.status());
  ComparedBundle out;
  out.file = path;
  out.graph = read_bundle_graph(path).graph;
  Result<Program> program = bundle->program();
  require(program.status(), path);
  out.program = std::move(*program);
  if (!out.program.machine.present) return out;
  const Target target = parse_target(bundle->text(Section::target), path + ": target");
  const plan::Plan plan = plan::make_plan(place(out.graph, target));
  for (std::size_t i = 0; i < plan.placement.nodes.size(); i++)
    if (plan.placement.nodes[i].unit == Unit::npu) out.npu.insert(i);
  for (const plan::Layer& l : plan.layers)
    for (const plan::Stage& stage : l.stages) out.layers[l.head()].insert(stage.node);
  out.tapped = lower::lower_tapped(plan);
  if (!same(lower::remove_taps(*out.tapped), out.program))
    fail(
        Code::bad_model, path,
        ": its program is not what this version of longshore makes of its graph and target, so its "
        "layers cannot be looked at: build it anew");
  return out;
}

CompareReport compare_simulator(const ComparedBundle& b, std::size_t samples,
                                const SampleSource& sample) {
  require(verified(b.program), b.file);
  require(verified(b.tapped->program), b.file + ": tap variant");
  BundleComparison comparison(b, b.program, b.tapped->program);
  Progress progress("comparing");
  for (std::size_t i = 0; i < samples; i++) {
    comparison.add(sample(i));
    progress.update(i + 1, samples);
  }
  return comparison.report();
}

InjectReport compare_injected(const ComparedBundle& b, std::uint64_t seed, std::size_t samples,
                              const SampleSource& sample) {
  std::optional<Injection> drawn = inject(b.program, seed);
  if (!drawn)
    fail(Code::bad_argument, b.file,
         ": there is no NPU instruction whose operand could be changed");
  InjectReport r{std::move(*drawn), {}, "", "", {}, {}};
  const Instruction& changed =
      r.change.program.queues[static_cast<int>(r.change.queue)][r.change.index];
  if (changed.layer != no_index) r.layers = b.nodes_of(changed.layer);
  if (const std::vector<Refusal> refusals = verify(r.change.program, 1); !refusals.empty()) {
    r.verdict = "refused by the verifier";
    r.why = refusals.front().text;
    return r;
  }
  const Place at = place_in_tapped(*b.tapped, {r.change.queue, r.change.index});
  Program tapped = b.tapped->program;
  tapped.queues[static_cast<int>(at.queue)][at.index].operation = changed.operation;
  try {
    BundleComparison comparison(b, r.change.program, tapped);
    for (std::size_t i = 0; i < samples; i++) comparison.add(sample(i));
    // What these samples do not show, others may.
    const std::size_t most = is_control(changed.operation) ? samples : samples + patience;
    for (; samples < most && comparison.report().ok(); samples++) comparison.add(sample(samples));
    r.comparison = comparison.report();
  } catch (const Error& e) {
    if (e.code() == Code::internal) throw;
    r.verdict = "stopped";
    r.why = e.what();
    return r;
  }

  ChangeEffect effect;
  ReferenceHost host(b.tapped->program, b.graph), changed_host(tapped, b.graph);
  for (std::size_t i = 0; i < samples; i++) {
    const std::vector<Tensor> inputs = sample(i);
    host.start(inputs);
    changed_host.start(inputs);
    const Result<ChangeEffect> one =
        effect_of_change(b.tapped->program, tapped, at, host, changed_host, seed + i);
    require(one.status(), r.change.text);
    merge(effect, *one);
  }
  for (std::uint32_t layer : effect.readers)
    for (std::string& name : b.nodes_of(layer))
      if (std::ranges::find(r.readers, name) == r.readers.end())
        r.readers.push_back(std::move(name));
  if (!r.comparison.ok()) {
    r.verdict = "different";
    r.why = describe(*total(r.comparison.layers).first);
    return r;
  }
  const Judgement j = judge(effect, b.program);
  r.verdict = j.verdict == Judgement::Verdict::timing_only ? "timing-only"
              : j.verdict == Judgement::Verdict::dead      ? "dead"
                                                           : "unnoticed";
  r.why = j.why;
  return r;
}

}  // namespace longshore
