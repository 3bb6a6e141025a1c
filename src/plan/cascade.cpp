// Neighbouring layers that hand each other stripes of rows in SRAM, so that what lies between them
// is neither stored nor loaded, or that share the stripes of an input. Rows that two stripes need
// are computed for both.
#include <map>

#include "plan/stripes.hpp"

namespace longshore::plan {
namespace {

constexpr std::size_t most_layers = 8;
/// Of the numbers of stripes that fit into the SRAM so many are timed, the smallest first.
constexpr int most_timed = 2;
/// Less than this part of the time is not worth a plan that is harder to read.
constexpr double least_gain = 0.005;

class Cascader {
 public:
  Cascader(Plan& plan, const Grouping& grouping, const PlanOptions& options, std::uint32_t cores)
      : plan_(plan),
        time_(options.time),
        rules_{options.cascade, options.horizontal},
        cores_(cores),
        buffers_(buffer_uses(plan)) {
    joined_.assign(plan.layers.size(), false);
    for (std::size_t i = 0; i + 1 < grouping.steps.size(); i++) {
      const Grouping::Step &a = grouping.steps[i], &b = grouping.steps[i + 1];
      if (a.npu && b.npu && b.index == a.index + 1)
        joined_[b.index] = in_stripes(plan.layers[a.index]) && in_stripes(plan.layers[b.index]);
    }
  }

  std::vector<ChosenCascade> run() {
    // The best way to cut the layers up to each one, from the front.
    const std::size_t n = plan_.layers.size();
    std::vector<double> gain(n + 1);
    std::vector<std::optional<ChosenCascade>> ends(n + 1);
    for (std::size_t last = 0; last < n; last++) {
      gain[last + 1] = gain[last];
      for (std::size_t length = 2; length <= most_layers && length <= last + 1; length++) {
        const std::size_t first = last + 1 - length;
        if (!joined_[first + 1]) break;
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
    const std::optional<Links> links = find_links(plan_, buffers_, first, last, rules_);
    if (!links) return {};
    const std::span<const Layer> layers =
        std::span(std::as_const(plan_.layers)).subspan(first, last + 1 - first);
    double compute = 0;
    for (const Layer& l : layers) compute += std::max(l.time.mac, l.time.vector);
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
        std::optional<Stripes> built = fit_stripes(plan_, layers, *links, cut);
        if (!built) continue;
        fits = true;
        const double gain = plain - time_(plan_, built->layers, built->tasks, false).total;
        if (gain <= (best ? best->gain_ns : least_gain * plain)) continue;
        best = ChosenCascade{
            {first, last, static_cast<std::size_t>(n), static_cast<std::uint32_t>(built->bytes)},
            std::move(built->layers),
            std::move(built->tasks),
            links->gone,
            gain};
      }
      timed += fits;
    }
    return best;
  }

  Plan& plan_;
  const TaskTimer& time_;
  const ShareRules rules_;
  const std::uint32_t cores_;
  const std::vector<BufferUses> buffers_;
  std::vector<bool> joined_;             // by layer: with the one before
  std::map<std::size_t, double> pairs_;  // by first layer
};

}  // namespace

std::vector<ChosenCascade> choose_cascades(Plan& plan, const Grouping& grouping,
                                           const PlanOptions& options, std::uint32_t cores) {
  return Cascader(plan, grouping, options, cores).run();
}

}  // namespace longshore::plan
