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

}  // namespace

Plan make_plan(Placement placement, const PlanOptions& options) {
  Plan plan;
  plan.placement = std::move(placement);
  const Machine& machine = plan.placement.target.machine;
  plan.sram_bytes = options.sram_bytes > 0 ? std::min(options.sram_bytes, machine.sram_bytes)
                                           : machine.sram_bytes;
  const Uses uses(plan.placement.graph);
  std::set<std::size_t> apart;  // nodes that do not fit together with others
  for (bool again = true; again;) {
    again = false;
    const Grouping grouping = group(plan.placement, uses, options.fuse, apart);
    place_in_memory(plan, grouping, uses);
    bool high = false;
    for (Layer& layer : plan.layers) {
      if (choose_tiling(plan, layer, plan.sram_bytes)) {
        assign_slots(layer, machine, plan.sram_bytes, high);
        high = !high;
        continue;
      }
      again = true;
      if (layer.stages.size() > 1) {
        for (const Stage& s : layer.stages) apart.insert(s.node);
      } else {
        move_to_cpu(
            plan.placement, layer.head(),
            {str("no tile of it fits into ", plan.sram_bytes, " bytes of SRAM"),
             str(plan.placement.target.file, ": npu.sram.bytes"), "give the NPU more SRAM"});
      }
    }
  }
  return plan;
}

std::uint32_t Plan::sram_peak() const {
  std::uint64_t most = 0;
  for (const Layer& l : layers) most = std::max(most, slot_bytes(l, placement.target.machine));
  return static_cast<std::uint32_t>(most);
}

std::string print(const Plan& p) {
  const Graph& g = p.placement.graph;
  std::string out;
  for (const Item& item : p.items) {
    if (!item.npu) {
      out += fmt::format("cpu  {}\n", describe(g.nodes[item.index]));
      continue;
    }
    const Layer& l = p.layers[item.index];
    out += "npu ";
    for (const Stage& s : l.stages) out += " " + describe(g.nodes[s.node]);
    const Tiling& t = l.tiling;
    out += fmt::format(
        "\n     tile {} x {} x {} from {} channels{}, {:.1f} us (mac {:.1f}, vector {:.1f}, in "
        "{:.1f}, out {:.1f})\n",
        t.rows, t.columns, t.channels, t.in_channels, t.weights_outer ? ", weights outside" : "",
        l.time.total * 1e-3, l.time.mac * 1e-3, l.time.vector * 1e-3, l.time.dma_in * 1e-3,
        l.time.dma_out * 1e-3);
    out += "     in " + shown(l.in_slots);
    if (l.weights.bytes > 0) out += ", weights " + shown(l.weights);
    if (l.accumulators.bytes > 0) out += ", accumulators " + shown(l.accumulators);
    for (const Stage& s : l.stages) {
      if (s.parameters.bytes > 0) out += ", parameters " + shown(s.parameters);
      if (s.side_slots.bytes > 0) out += ", side " + shown(s.side_slots);
      out += ", out " + shown(s.out);
    }
    out += "\n";
  }
  return out;
}

}  // namespace longshore::plan
