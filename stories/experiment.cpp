#include "experiment.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "compile/choices.hpp"
#include "story.hpp"

namespace longshore::stories {
namespace {

compile::Options options(const Experiment& e) {
  compile::Options o;
  o.target = load_target(e.target, e.set);
  o.model.emplace().graph = parse(e.graph);
  o.first = compile::Stage::place;
  for (const std::string& name : e.without) compile::choose(o, "--without", name);
  for (const std::string& unit : e.force) compile::choose(o, "--force", unit);
  return o;
}

}  // namespace

bool holds(std::span<const Comparison> all) {
  return !all.empty() && std::ranges::all_of(all, &Comparison::holds);
}

plan::Plan plan_of(const Experiment& e) {
  compile::Options o = options(e);
  o.last = compile::Stage::plan;
  o.place.by_price = false;
  plan::Plan p = compile::compile(o).plan;
  // Else a time would leave something out.
  check(std::ranges::all_of(p.placement.nodes, &NodePlacement::on_npu),
        "a story that times the NPU alone has all of its nodes there");
  return p;
}

double npu_ms(const plan::Plan& p) {
  return lower::task_time(p, p.layers, p.tasks, true).total * 1e-6;
}
double npu_ms(const Experiment& e) { return npu_ms(plan_of(e)); }

double program_ms(const Experiment& e) {
  compile::Options o = options(e);
  o.verify = false;  // no answer is looked at, and other tests prove programs
  return compile::compile(o).timing.total_ns * 1e-6;
}

plan::Plan without_second_buffers(plan::Plan p) {
  const auto one = [](plan::Slots& s) {
    if (s.addresses.size() > 1) s.addresses.resize(1);
  };
  p.tasks.clear();
  p.cascades.clear();
  for (std::size_t i = 0; i < p.layers.size(); i++) {
    for (plan::Stage& s : p.layers[i].stages) {
      for (plan::StageOperand& o : s.operands)
        if (o.what.source == forms::Operand::Source::value) one(o.slots);
      one(s.result);
    }
    for (plan::TileTask& t : plan::layer_tasks(p, p.layers[i], static_cast<std::uint32_t>(i)))
      p.tasks.push_back(std::move(t));
  }
  return p;
}

}  // namespace longshore::stories
