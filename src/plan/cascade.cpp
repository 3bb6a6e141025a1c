// Neighbouring layers that hand each other stripes of rows in SRAM, so that what lies between them
// is neither stored nor loaded. Rows that two stripes need are computed for both.
#include <map>

#include "plan/stripes.hpp"

namespace longshore::plan {
namespace {

using forms::Operand;

constexpr std::size_t most_layers = 4;
/// Of the numbers of stripes that fit into the SRAM so many are timed, the smallest first.
constexpr int most_timed = 2;
/// Less than this part of the time is not worth a plan that is harder to read.
constexpr double least_gain = 0.005;

class Cascader {
 public:
  Cascader(Plan& plan, const Grouping& grouping, const Uses& uses, const TaskTimer& time,
           std::uint32_t cores)
      : plan_(plan), grouping_(grouping), uses_(uses), time_(time), cores_(cores) {}

  std::vector<ChosenCascade> run() {
    find_links();
    // The best way to cut the layers up to each one, from the front.
    const std::size_t n = plan_.layers.size();
    std::vector<double> gain(n + 1);
    std::vector<std::optional<ChosenCascade>> ends(n + 1);
    for (std::size_t last = 0; last < n; last++) {
      gain[last + 1] = gain[last];
      for (std::size_t length = 2; length <= most_layers && length <= last + 1; length++) {
        const std::size_t first = last + 1 - length;
        if (!links_[first + 1]) break;
        std::optional<ChosenCascade> c = best(first, last);
        if (!c || gain[first] + c->gain_ns <= gain[last + 1]) continue;
        gain[last + 1] = gain[first] + c->gain_ns;
        ends[last + 1] = std::move(c);
      }
    }
    std::vector<ChosenCascade> out;
    for (std::size_t i = n; i > 0;) {
      if (!ends[i] || gain[i] == gain[i - 1]) {
        i--;
        continue;
      }
      out.push_back(std::move(*ends[i]));
      i = out.back().what.first;
    }
    std::ranges::reverse(out);
    return out;
  }

 private:
  /// For each layer the operand of its head that the layer before it makes, if that can stay in
  /// SRAM.
  void find_links() {
    links_.assign(plan_.layers.size(), {});
    for (std::size_t i = 0; i + 1 < grouping_.steps.size(); i++) {
      const Grouping::Step &a = grouping_.steps[i], &b = grouping_.steps[i + 1];
      if (a.npu && b.npu && b.index == a.index + 1) links_[b.index] = link(a.index, b.index);
    }
  }

  std::optional<std::size_t> link(std::size_t a, std::size_t b) const {
    const Layer &from = plan_.layers[a], &to = plan_.layers[b];
    const Stage &last = from.stages.back(), &head = to.stages.front();
    const ValueId v = layer_result(plan_, from);
    if (!in_stripes(from) || !in_stripes(to) || form_node(plan_, head).data() != v ||
        plan_.aliases[index(v)].parent != no_value || uses_.nodes[index(v)].size() != 1 ||
        uses_.output[index(v)] || uses_.captured[index(v)] ||
        last.out != *forms::extent_of(plan_.placement.graph[v]))
      return {};
    for (std::size_t i = 0; i < head.operands.size(); i++) {
      const StageOperand& o = head.operands[i];
      if (o.what.source == Operand::Source::value && o.what.input == head.spec.data &&
          o.extent == last.out)
        return i;
    }
    return {};
  }

  bool in_stripes(const Layer& l) const {
    const Stage& head = l.stages.front();
    const forms::TileRules r =
        head.form->rules(form_node(plan_, head), plan_.placement.target.machine);
    return !r.sums_pixels && !r.single_rows && head.out.n == 1 && head.in.n == 1 &&
           (!r.sums_channels || head.spec.groups == 1) &&
           std::ranges::none_of(head.operands, [](const StageOperand& o) { return o.what.matrix; });
  }

  /// The layers one after the other, which overlap at their seams: pairs are timed.
  double plain_ns(std::size_t first, std::size_t last) {
    double sum = pair_ns(first);
    for (std::size_t k = first + 1; k < last; k++) sum += pair_ns(k) - plan_.layers[k].time.total;
    return sum;
  }
  double pair_ns(std::size_t first) {
    const auto [it, fresh] = pairs_.try_emplace(first, 0.0);
    if (!fresh) return it->second;
    std::vector<TileTask> tasks;
    for (std::uint32_t k = 0; k < 2; k++)
      std::ranges::move(layer_tasks(plan_, plan_.layers[first + k], k), std::back_inserter(tasks));
    return it->second = time_(plan_, std::span(plan_.layers).subspan(first, 2), tasks, true).total;
  }

  std::optional<ChosenCascade> best(std::size_t first, std::size_t last) {
    const std::span<const Layer> layers =
        std::span(std::as_const(plan_.layers)).subspan(first, last + 1 - first);
    double compute = 0;
    std::vector<std::size_t> links;
    for (std::size_t k = first; k <= last; k++) {
      compute += std::max(plan_.layers[k].time.mac, plan_.layers[k].time.vector);
      links.push_back(k == first ? 0 : *links_[k]);
    }
    const double plain = plain_ns(first, last);
    if (compute > (1 - least_gain) * plain) return {};
    std::optional<ChosenCascade> best;
    const std::int64_t height = layers.back().stages.front().out.h;
    int timed = 0;
    // Each core has as many stripes as the others.
    for (std::int64_t n = cores_; n <= height && timed < most_timed;
         n = n < 4 * cores_ ? n + cores_ : n * 3 / 2 / cores_ * cores_) {
      bool fits = false;
      for (const StripeCut& cut :
           {StripeCut{n, 1, 1, cores_}, StripeCut{n, 2, 1, cores_}, StripeCut{n, 2, 2, cores_}}) {
        if (cut.turns > 1 && n == cores_) continue;
        std::optional<Stripes> built = fit_stripes(plan_, layers, links, cut);
        if (!built) continue;
        fits = true;
        const double gain = plain - time_(plan_, built->layers, built->tasks, false).total;
        if (gain <= (best ? best->gain_ns : least_gain * plain)) continue;
        best = ChosenCascade{
            {first, last, static_cast<std::size_t>(n), static_cast<std::uint32_t>(built->bytes)},
            std::move(built->layers),
            std::move(built->tasks),
            gain};
      }
      timed += fits;
    }
    return best;
  }

  Plan& plan_;
  const Grouping& grouping_;
  const Uses& uses_;
  const TaskTimer& time_;
  const std::uint32_t cores_;
  std::vector<std::optional<std::size_t>> links_;
  std::map<std::size_t, double> pairs_;  // by first layer
};

}  // namespace

std::vector<ChosenCascade> choose_cascades(Plan& plan, const Grouping& grouping, const Uses& uses,
                                           const TaskTimer& time, std::uint32_t cores) {
  return Cascader(plan, grouping, uses, time, cores).run();
}

}  // namespace longshore::plan
