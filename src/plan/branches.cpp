// Independent branches take turns, or a core each: a layer that would wait for what was just begun
// lets another go first, and of several cores that which is free first does it.
#include <algorithm>
#include <limits>
#include <numeric>
#include <span>

#include "plan/stages.hpp"

namespace longshore::plan {
namespace {

/// What runs as a whole: a step, or the steps of a cascade.
struct Unit {
  std::size_t step = 0, steps = 1;  // into Grouping::steps
  std::vector<std::size_t> after;   // units whose results it reads
  bool npu = false, all_cores = false;
  double total = 0;  // nanoseconds from its first load to its last store
  double busy = 0;   // of its busiest engine: then the next can work
};

class Brancher {
 public:
  Brancher(const Plan& plan, const Grouping& grouping, const std::vector<ChosenCascade>& cascades,
           const TaskTimer& time, std::uint32_t cores)
      : plan_(plan),
        g_(plan.placement.graph),
        steps_(grouping.steps),
        cores_(cores),
        makers_(g_.values.size()) {
    for (std::size_t at = 0; at < steps_.size(); at += units_.back().steps) {
      Unit unit;
      unit.step = at;
      unit.npu = steps_[at].npu;
      const auto c = std::ranges::find_if(cascades, [&](const ChosenCascade& cascade) {
        return unit.npu && cascade.what.first == steps_[at].index;
      });
      if (c != cascades.end())
        cascade_unit(unit, *c, time);
      else
        unit.npu ? layer_unit(unit) : cpu_unit(unit);
      units_.push_back(std::move(unit));
    }
    find_makers();
    for (std::size_t u = 0; u < units_.size(); u++) find_inputs(u);
  }

  /// In the order in which they begin, each as early as what it reads and its engines allow.
  BranchOrder run() {
    BranchOrder out;
    out.core.assign(plan_.layers.size(), 0);
    std::vector<double> free(cores_ + 1), done(units_.size());  // the last: the CPU
    std::vector<std::size_t> left(units_.size());
    std::iota(left.begin(), left.end(), std::size_t{0});
    std::vector<bool> begun(units_.size());
    core_.assign(units_.size(), 0);
    while (!left.empty()) {
      double earliest = std::numeric_limits<double>::infinity();
      std::size_t best = 0;
      std::uint32_t core = 0;
      std::size_t looked_at = 0;
      for (const std::size_t u : left) {
        if (looked_at++ == window) break;
        const Unit& unit = units_[u];
        if (!std::ranges::all_of(unit.after, [&](std::size_t v) { return begun[v]; })) continue;
        const auto [begin, where] = start(unit, free, done);
        if (begin < earliest) earliest = begin, best = u, core = where;
      }
      const Unit& unit = units_[best];
      begun[best] = true;
      core_[best] = core;
      done[best] = earliest + unit.total;
      const double next = earliest + unit.busy;
      if (unit.all_cores)
        std::fill_n(free.begin(), cores_, next);
      else
        free[core] = next;
      each_step(unit, [&](const Grouping::Step& step) {
        out.steps.push_back(step);
        if (unit.npu && !unit.all_cores) out.core[step.index] = core;
      });
      out.changed |= best != left.front() || (unit.npu && core > 0);
      std::erase(left, best);
    }
    return out;
  }

 private:
  /// So many of those that are left, in the old order, may go first: what is made long before it
  /// is read takes memory.
  static constexpr std::size_t window = 24;

  void layer_unit(Unit& unit) const {
    const Layer& l = plan_.layers[steps_[unit.step].index];
    unit.all_cores = l.split != Split::none;
    unit.total = l.time.total;
    unit.busy = l.time.busiest();
  }
  void cascade_unit(Unit& unit, const ChosenCascade& c, const TaskTimer& time) const {
    unit.steps = c.layers.size();
    unit.all_cores = std::ranges::any_of(c.tasks, [](const TileTask& t) { return t.core > 0; });
    const LayerTime together = time(plan_, c.layers, c.tasks, true);
    unit.total = together.total;
    unit.busy = together.busiest();
  }
  void cpu_unit(Unit& unit) const {
    unit.busy = std::max(plan_.placement.nodes[steps_[unit.step].index].cpu_us(), 0.0) * 1e3;
    unit.total = unit.busy;
  }

  void find_makers() {
    const auto make = [&](std::size_t u, ValueId v) {
      if (v != no_value) makers_[index(v)].push_back(u);
    };
    for (std::size_t u = 0; u < units_.size(); u++)
      each_step(units_[u], [&](const Grouping::Step& step) {
        if (!step.npu)
          for (const ValueId v : g_.nodes[step.index].outputs) make(u, v);
        else
          for (const Stage& s : plan_.layers[step.index].stages)
            make(u, form_node(plan_, s).result());
      });
    // What shows elements of other values, or is put together of them, is made with these.
    for (std::size_t i = 0; i < g_.nodes.size(); i++) {
      const NodePlacement& p = plan_.placement.nodes[i];
      if (!p.on_npu()) continue;
      const Node& n = g_.nodes[i];
      for (const ValueId v : n.outputs) {
        if (v == no_value) continue;
        std::vector<std::size_t>& own = makers_[index(v)];
        const bool shows = p.form()->shows && p.form()->shows(p.spec) != forms::Shows::nothing;
        if (!own.empty() && !shows) continue;
        for (const ValueId from : n.inputs)
          if (from != no_value)
            own.insert(own.end(), makers_[index(from)].begin(), makers_[index(from)].end());
        sort_out(own);
      }
    }
  }

  void find_inputs(std::size_t u) {
    std::vector<std::size_t>& after = units_[u].after;
    const auto read = [&](ValueId v) {
      if (v != no_value)
        after.insert(after.end(), makers_[index(v)].begin(), makers_[index(v)].end());
    };
    each_step(units_[u], [&](const Grouping::Step& step) {
      if (!step.npu) {
        const Node& n = g_.nodes[step.index];
        std::ranges::for_each(n.inputs, read);
        for (const Subgraph& s : n.subgraphs) std::ranges::for_each(s.captures, read);
        return;
      }
      for (const Stage& s : plan_.layers[step.index].stages)
        for (const StageOperand& o : s.operands)
          if (o.view.present())
            read(g_.nodes[s.node].input(static_cast<std::size_t>(o.what.input)));
    });
    std::erase(after, u);
    sort_out(after);
  }

  template <class F>
  void each_step(const Unit& unit, F&& f) const {
    std::ranges::for_each(steps_.begin() + static_cast<std::ptrdiff_t>(unit.step),
                          steps_.begin() + static_cast<std::ptrdiff_t>(unit.step + unit.steps), f);
  }

  static void sort_out(std::vector<std::size_t>& numbers) {
    std::ranges::sort(numbers);
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  }

  /// When it can begin, and on which core; that is the CPU's number for a step of the CPU.
  std::pair<double, std::uint32_t> start(const Unit& unit, const std::vector<double>& free,
                                         const std::vector<double>& done) const {
    const Machine& m = plan_.placement.target.machine;
    double ready = 0;
    for (const std::size_t v : unit.after) {
      const double handed_over =
          units_[v].npu == unit.npu ? 0 : 1e3 * (unit.npu ? m.submit_us : m.interrupt_us);
      ready = std::max(ready, done[v] + handed_over);
    }
    if (!unit.npu) return {std::max(ready, free[cores_]), cores_};
    const std::span<const double> cores = std::span(free).first(cores_);
    if (unit.all_cores) return {std::max(ready, *std::ranges::max_element(cores)), 0};
    // Where the last of what it reads was made, if that is not busy: cores need not tell each
    // other.
    for (auto v = unit.after.rbegin(); v != unit.after.rend(); ++v)
      if (units_[*v].npu && !units_[*v].all_cores && free[core_[*v]] <= ready)
        return {ready, core_[*v]};
    const auto first = std::ranges::min_element(cores);
    return {std::max(ready, *first), static_cast<std::uint32_t>(first - cores.begin())};
  }

  const Plan& plan_;
  const Graph& g_;
  const std::vector<Grouping::Step>& steps_;
  const std::uint32_t cores_;
  std::vector<Unit> units_;
  std::vector<std::vector<std::size_t>> makers_;  // by value: units
  std::vector<std::uint32_t> core_;               // by unit
};

}  // namespace

BranchOrder order_branches(const Plan& plan, const Grouping& grouping,
                           const std::vector<ChosenCascade>& cascades, const TaskTimer& time,
                           std::uint32_t cores) {
  return Brancher(plan, grouping, cascades, time, cores).run();
}

}  // namespace longshore::plan
