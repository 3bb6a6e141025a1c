#include "plan/plan.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.hpp"
#include "plan/stages.hpp"

namespace longshore::plan {
namespace {

std::string shown(const Slots& s) {
  std::string out = fmt::format("{}x{}", s.addresses.size(), s.bytes);
  for (std::uint32_t a : s.addresses) out += fmt::format(" @{}", a);
  return out;
}

/// Bytes that the smallest tile of the layer takes.
std::uint64_t least_bytes(const Plan& plan, const Layer& layer) {
  std::uint64_t low = 1, high = std::uint64_t{1} << 31;
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    Layer trial = layer;
    if (choose_tiling(plan, trial, static_cast<std::uint32_t>(middle), nullptr))
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

}  // namespace

FormNode form_node(const Plan& p, const Stage& s) {
  return {p.placement.graph, p.placement.graph.nodes[s.node], s.spec, s.in, s.out};
}

ValueId layer_result(const Plan& p, const Layer& l) {
  return form_node(p, l.stages.back()).result();
}

Plan make_plan(Placement placement, const PlanOptions& options) {
  Plan plan;
  plan.placement = std::move(placement);
  const Machine& machine = plan.placement.target.machine;
  plan.sram_bytes = options.sram_bytes > 0 ? std::min(options.sram_bytes, machine.sram_bytes)
                                           : machine.sram_bytes;
  const Uses uses(plan.placement.graph);
  std::set<std::size_t> apart;  // nodes that do not fit together with others
  Grouping grouping;
  for (bool again = true; again;) {
    again = false;
    grouping = group(plan.placement, uses, options.fuse, apart);
    place_in_memory(plan, grouping, uses);
    bool high = false;
    for (Layer& layer : plan.layers) {
      if (choose_tiling(plan, layer, plan.sram_bytes, options.time)) {
        assign_slots(layer, machine, plan.sram_bytes, high);
        high = !high;
        continue;
      }
      again = true;
      if (layer.stages.size() > 1) {
        for (const Stage& s : layer.stages) apart.insert(s.node);
      } else {
        Reasons reasons;
        reasons.range("the SRAM that tiles may use", plan.sram_bytes,
                      static_cast<std::int64_t>(least_bytes(plan, layer)), machine.sram_bytes,
                      "its smallest tile needs",
                      str(plan.placement.target.file, ": npu.sram.bytes"));
        move_to_cpu(plan.placement, layer.head(), reasons.all().front());
      }
    }
  }
  plan.tasks.clear();
  plan.items.clear();
  for (const Grouping::Step& step : grouping.steps) {
    if (!step.npu) {
      plan.items.push_back({false, step.index});
      continue;
    }
    for (TileTask& task :
         layer_tasks(plan, plan.layers[step.index], static_cast<std::uint32_t>(step.index))) {
      plan.items.push_back({true, plan.tasks.size()});
      plan.tasks.push_back(std::move(task));
    }
  }
  return plan;
}

std::uint32_t Plan::sram_peak() const {
  std::uint64_t most = 0;
  for (const Layer& l : layers) most = std::max(most, slot_bytes(l));
  return static_cast<std::uint32_t>(most);
}

std::string print(const Plan& p) {
  const Graph& g = p.placement.graph;
  std::string out;
  std::uint32_t last = 0xffffffffu;
  for (const Item& item : p.items) {
    if (!item.npu) {
      out += fmt::format("cpu  {}\n", describe(g.nodes[item.index]));
      continue;
    }
    const std::uint32_t number = p.tasks[item.index].layer;
    if (number == last) continue;
    last = number;
    const Layer& l = p.layers[number];
    const auto tasks = std::ranges::count(p.tasks, number, &TileTask::layer);
    out += "npu ";
    for (const Stage& s : l.stages)
      out += fmt::format(" {} as {}", describe(g.nodes[s.node]), s.form->name);
    const Tiling& t = l.tiling;
    out += fmt::format(
        "\n     {} tasks of {} x {} x {} from {} channels{}, {:.1f} us alone\n     busy: mac "
        "{:.1f}, "
        "vector {:.1f}, dma in {:.1f}, dma out {:.1f} us\n",
        tasks, t.rows, t.columns, t.channels, t.in_channels,
        t.weights_outer ? ", weights outside" : "", l.time.total * 1e-3, l.time.mac * 1e-3,
        l.time.vector * 1e-3, l.time.dma_in * 1e-3, l.time.dma_out * 1e-3);
    out += "    ";
    for (const Stage& s : l.stages) {
      for (std::size_t i = 0; i < s.operands.size(); i++)
        if (!s.operands[i].slots.addresses.empty())
          out += fmt::format(" operand {} {},", i, shown(s.operands[i].slots));
      out += fmt::format(" result {}{}", shown(s.result), &s == &l.stages.back() ? "" : ";");
    }
    if (l.accumulators.bytes > 0) out += ", sums " + shown(l.accumulators);
    out += "\n";
  }
  return out;
}

}  // namespace longshore::plan
