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

std::string_view shown(Split s) {
  switch (s) {
    case Split::none:
      break;
    case Split::pixels:
      return ", cores by pixels";
    case Split::channels:
      return ", cores by channels";
  }
  return "";
}

/// Bytes that the smallest tile of the layer takes.
std::uint64_t least_bytes(const Plan& plan, const Layer& layer) {
  std::uint64_t low = 1, high = std::uint64_t{1} << 31;
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    Layer trial = layer;
    if (choose_tiling(plan, trial, static_cast<std::uint32_t>(middle), {}))
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

/// The layers of a cascade take their new slots. What lies between them needs no place in DRAM.
void enter(Plan& plan, const ChosenCascade& c, const TaskTimer& time) {
  plan.cascades.push_back(c.what);
  for (std::size_t k = 0; k < c.layers.size(); k++) {
    Layer& l = plan.layers[c.what.first + k];
    l = c.layers[k];
    std::vector<TileTask> own;
    std::ranges::copy_if(c.tasks, std::back_inserter(own),
                         [&](const TileTask& t) { return t.layer == k; });
    l.time = time(plan, c.layers, own, false);
  }
  for (const std::uint32_t b : c.gone) plan.buffers[b].bytes = 0;
}

/// Groups the nodes into layers and gives each its tiling. Nodes that do not fit together are taken
/// apart, and those that do not fit alone go to the CPU.
Grouping tile(Plan& plan, const Uses& uses, const PlanOptions& options, std::uint32_t cores) {
  const Machine& machine = plan.placement.target.machine;
  plan.sram_bytes = options.sram_bytes > 0 ? std::min(options.sram_bytes, machine.sram_bytes)
                                           : machine.sram_bytes;
  std::set<std::size_t> apart;
  Grouping grouping;
  for (bool again = true; again;) {
    again = false;
    grouping = group(plan.placement, uses, options.fuse, apart);
    place_in_memory(plan, grouping, uses);
    bool high = false;
    for (Layer& layer : plan.layers) {
      if (choose_tiling(plan, layer, plan.sram_bytes, options, cores)) {
        assign_slots(layer, machine, plan.sram_bytes, high);
        high = options.prefetch && !high;
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
  return grouping;
}

/// The steps in the grouping's order; a cascade's tasks stand where its first layer does. Its
/// results are written from there on, while its inputs are still read.
void put_in_order(Plan& plan, const Grouping& grouping,
                  const std::vector<ChosenCascade>& cascades) {
  const auto add = [&](std::vector<TileTask> tasks, std::size_t first_layer) {
    for (TileTask& task : tasks) {
      task.layer += static_cast<std::uint32_t>(first_layer);
      task.core += static_cast<std::uint8_t>(plan.layers[task.layer].core);
      plan.items.push_back({true, plan.tasks.size()});
      plan.tasks.push_back(std::move(task));
    }
  };
  find_lifetimes(plan, grouping);
  const ChosenCascade* inside = nullptr;
  std::uint32_t begun = 0;
  for (std::uint32_t i = 0; i < grouping.steps.size(); i++) {
    const Grouping::Step& step = grouping.steps[i];
    if (!step.npu) {
      plan.items.push_back({false, step.index});
      continue;
    }
    const auto holds = [&](const Cascade& c) {
      return c.first <= step.index && step.index <= c.last;
    };
    if (inside == nullptr || !holds(inside->what)) {
      const auto c = std::ranges::find_if(cascades, holds, &ChosenCascade::what);
      inside = c == cascades.end() ? nullptr : &*c;
      begun = i + 1;  // lifetimes count steps from 1
      if (inside != nullptr)
        add(inside->tasks, inside->what.first);
      else
        add(layer_tasks(plan, plan.layers[step.index], 0), step.index);
    }
    if (inside != nullptr) {
      Buffer& to = plan.buffers[plan.layers[step.index].to.buffer];
      to.first = std::min(to.first, begun);
    }
  }
  place_buffers(plan);
}

/// The same plan with its branches side by side, if that changes anything.
std::optional<Plan> with_branches(const Plan& plan, const Grouping& grouping,
                                  const std::vector<ChosenCascade>& cascades,
                                  const PlanOptions& options, std::uint32_t cores) {
  BranchOrder order = order_branches(plan, grouping, cascades, options.time, cores);
  if (!order.changed) return {};
  Plan out = plan;
  std::vector<bool> high(cores);  // the end of the SRAM for the next layer, by core
  for (const Grouping::Step& step : order.steps) {
    if (!step.npu) continue;
    Layer& layer = out.layers[step.index];
    layer.core = order.core[step.index];
    const bool in_cascade = std::ranges::any_of(out.cascades, [&](const Cascade& c) {
      return c.first <= step.index && step.index <= c.last;
    });
    if (in_cascade) continue;
    const bool end = high[layer.core];
    assign_slots(layer, out.placement.target.machine, out.sram_bytes, end);
    const bool next = options.prefetch && !end;
    layer.split == Split::none ? void(high[layer.core] = next) : high.assign(cores, next);
  }
  Grouping turned = grouping;
  turned.steps = std::move(order.steps);
  put_in_order(out, turned, cascades);
  return out;
}

/// With cores and cascades and without, as `options` allow.
std::vector<Plan> plans_within(const Placement& placement, const Uses& uses,
                               const PlanOptions& options) {
  const Machine& machine = placement.target.machine;
  const std::uint32_t all_cores =
      options.cores && options.time ? std::min(most_cores, machine.cores) : 1;
  std::vector<Plan> plans;
  for (const std::uint32_t cores : std::set{all_cores, 1u}) {
    Plan plan;
    plan.placement = placement;
    const Grouping grouping = tile(plan, uses, options, cores);
    const auto finish = [&](Plan p, const std::vector<ChosenCascade>& cascades) {
      for (const ChosenCascade& c : cascades) enter(p, c, options.time);
      std::vector<Plan> others;
      if (options.time && options.branches)
        for (const std::uint32_t on : std::set{all_cores, cores}) {
          std::optional<Plan> other = with_branches(p, grouping, cascades, options, on);
          if (other) others.push_back(*std::move(other));
        }
      put_in_order(p, grouping, cascades);
      // What is made early lies in memory for longer, which a small one may not hold.
      if (machine.dram_bytes > 0)
        std::erase_if(others, [&](const Plan& o) { return o.arena.bytes > p.arena.bytes; });
      plans.push_back(std::move(p));
      std::ranges::move(others, std::back_inserter(plans));
    };
    if (options.time && (options.cascade || options.horizontal)) {
      const std::vector<ChosenCascade> cascades = choose_cascades(plan, grouping, options, cores);
      if (!cascades.empty()) finish(plan, cascades);
    }
    finish(std::move(plan), {});
  }
  return plans;
}

/// Plans within half of the SRAM, a quarter and so on, while they take no more than twice the least
/// time and leave as many nodes on the NPU.
void add_smaller(std::vector<Plan>& plans, std::vector<double>& ns, const Uses& uses,
                 const PlanOptions& options) {
  const Placement placement = plans.front().placement;
  const auto on_npu = [](const Placement& p) {
    return std::ranges::count_if(p.nodes, &NodePlacement::on_npu);
  };
  const double longest = 2 * *std::ranges::min_element(ns);
  for (std::size_t i = plans.size(); i-- > 0;)
    if (ns[i] > longest) {
      plans.erase(plans.begin() + static_cast<std::ptrdiff_t>(i));
      ns.erase(ns.begin() + static_cast<std::ptrdiff_t>(i));
    }
  PlanOptions less = options;
  for (bool more = true; more;) {
    more = false;
    less.sram_bytes = plans.back().sram_bytes / 2;
    if (less.sram_bytes == 0) return;
    for (Plan& p : plans_within(placement, uses, less)) {
      if (on_npu(p.placement) < on_npu(placement)) return;
      const double t = options.total(p);
      if (t > longest) continue;
      more = true;
      plans.push_back(std::move(p));
      ns.push_back(t);
    }
  }
}

}  // namespace

FormNode form_node(const Plan& p, const Stage& s) {
  return {p.placement.graph, p.placement.graph.nodes[s.node], s.spec, s.in, s.out};
}

ValueId layer_result(const Plan& p, const Layer& l) {
  return form_node(p, l.stages.back()).result();
}

Plan make_plan(const Placement& placement, const PlanOptions& options) {
  check(!options.time == !options.total, "a timer of tasks without one of plans");
  check(options.goal == Goal::time || options.time, "plans for least memory are timed");
  const Uses uses(placement.graph);
  std::vector<Plan> plans = plans_within(placement, uses, options);
  if (options.goal == Goal::time && plans.size() == 1) return std::move(plans.front());
  std::vector<double> ns;
  for (const Plan& p : plans) ns.push_back(options.total(p));
  if (options.goal == Goal::memory) add_smaller(plans, ns, uses, options);
  std::size_t best = 0;
  for (std::size_t i = 1; i < plans.size(); i++) {
    const std::uint64_t own = plans[i].memory_bytes(), least = plans[best].memory_bytes();
    const bool compared = options.goal == Goal::memory && own != least;
    if (compared ? own < least : ns[i] < ns[best]) best = i;
  }
  return std::move(plans[best]);
}

std::uint64_t Plan::memory_bytes() const {
  std::uint64_t end = 0;
  const auto reach = [&](const Slots& s) {
    for (const std::uint32_t a : s.addresses) end = std::max<std::uint64_t>(end, a + s.bytes);
  };
  for (const Layer& l : layers) {
    for (const Stage& s : l.stages) {
      for (const StageOperand& o : s.operands) reach(o.slots);
      reach(s.result);
    }
    reach(l.accumulators);
  }
  return arena.bytes + end;
}

std::uint32_t Plan::sram_peak() const {
  std::uint64_t most = 0;
  for (const Layer& l : layers) most = std::max(most, slot_bytes(l));
  for (const Cascade& c : cascades) most = std::max<std::uint64_t>(most, c.sram_bytes);
  return static_cast<std::uint32_t>(most);
}

std::string print(const Plan& p) {
  const Graph& g = p.placement.graph;
  std::string out;
  std::vector<bool> shown_already(p.layers.size());
  for (const Item& item : p.items) {
    if (!item.npu) {
      out += fmt::format("cpu  {}\n", describe(g.nodes[item.index]));
      continue;
    }
    const std::uint32_t number = p.tasks[item.index].layer;
    if (shown_already[number]) continue;
    shown_already[number] = true;
    if (const auto c = std::ranges::find(p.cascades, number, &Cascade::first);
        c != p.cascades.end())
      out += fmt::format("     {} layers in turn, {} stripe{}, {} bytes of SRAM\n",
                         c->last - c->first + 1, c->stripes, c->stripes == 1 ? "" : "s",
                         c->sram_bytes);
    const Layer& l = p.layers[number];
    const auto tasks = std::ranges::count(p.tasks, number, &TileTask::layer);
    out += "npu ";
    for (const Stage& s : l.stages)
      out += fmt::format(" {} as {}", describe(g.nodes[s.node]), s.form->name);
    const Tiling& t = l.tiling;
    out += fmt::format(
        "\n     {} tasks of {} x {} x {} from {} channels{}{}, {:.1f} us alone\n     busy: mac "
        "{:.1f}, "
        "vector {:.1f}, dma in {:.1f}, dma out {:.1f} us\n",
        tasks, t.rows, t.columns, t.channels, t.in_channels,
        t.weights_outer ? ", weights outside" : "", shown(l.split), l.time.total * 1e-3,
        l.time.mac * 1e-3, l.time.vector * 1e-3, l.time.dma_in * 1e-3, l.time.dma_out * 1e-3);
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
