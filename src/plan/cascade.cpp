// Neighbouring layers that hand each other stripes of rows in SRAM, so that what lies between them
// is neither stored nor loaded, or that share the stripes of an input. Rows that two stripes need
// are computed for both.
#include <array>
#include <limits>

#include "plan/stripes.hpp"

namespace longshore::plan {
namespace {

constexpr std::size_t most_layers = 8;
/// Of the numbers of stripes that fit into the SRAM so many are timed, the smallest first.
constexpr int most_timed = 2;
/// Less than this part of the time is not worth a plan that is harder to read.
constexpr double least_gain = 0.005;

/// A layer as it is, or a few as a cascade: what the plan is a row of.
struct Piece {
  Cascade what;  // with 0 stripes: a layer as it is
  std::vector<Layer> layers;
  std::vector<TileTask> tasks;
  std::vector<std::uint32_t> gone;
  LayerTime alone;
};

void add(LayerTime& sum, const LayerTime& t) {
  sum.mac += t.mac, sum.vector += t.vector, sum.dma_in += t.dma_in, sum.dma_out += t.dma_out;
}

class Cascader {
 public:
  Cascader(const Plan& plan, const Grouping& grouping, const PlanOptions& options,
           std::uint32_t cores)
      : plan_(plan),
        time_(options.time),
        rules_{options.cascade, options.horizontal},
        cores_(cores),
        buffers_(buffer_uses(plan)) {
    joined_.assign(plan.layers.size() + 1, false);
    follows_.assign(plan.layers.size() + 1, false);
    for (std::size_t i = 0; i + 1 < grouping.steps.size(); i++) {
      const Grouping::Step &a = grouping.steps[i], &b = grouping.steps[i + 1];
      if (!a.npu || !b.npu || b.index != a.index + 1) continue;
      follows_[b.index] = true;
      joined_[b.index] = in_stripes(plan.layers[a.index]) && in_stripes(plan.layers[b.index]);
    }
    // Buffers that share bytes by their lifetimes in turn would make stripes wait for each other.
    for (Buffer& b : plan_.buffers) b.first = 0, b.last = std::numeric_limits<std::uint32_t>::max();
    place_buffers(plan_);
  }

  std::vector<ChosenCascade> run() {
    const std::size_t n = plan_.layers.size();
    for (std::size_t k = 0; k < n; k++) plain_.push_back(plain(k));
    ends_.resize(n + 1);
    for (std::size_t last = 0; last < n; last++) {
      ends_[last + 1] = End{plain_[last], 0, 0};
      rate(ends_[last + 1]);
      for (std::size_t length = 2; length <= most_layers && length <= last + 1; length++) {
        const std::size_t first = last + 1 - length;
        if (!joined_[first + 1]) break;
        for (const std::optional<Links>& links : ways_to_share(first, last))
          if (links) try_cascades(first, last, *links);
      }
      End& best = ends_[last + 1];
      best.cost = cost_before(best.piece.what.first) +
                  in_turn({before(best.piece.what.first), &best.piece}).total;
      if (best.piece.what.stripes > 0)
        best.piece.alone = time_(plan_, best.piece.layers, best.piece.tasks, true);
    }
    std::vector<ChosenCascade> out;
    for (std::size_t i = n; i > 0;) {
      Piece& p = ends_[i].piece;
      i = p.what.first;
      if (p.what.stripes > 0)
        out.push_back({p.what, std::move(p.layers), std::move(p.tasks), std::move(p.gone)});
    }
    std::ranges::reverse(out);
    return out;
  }

 private:
  /// The best way to do the layers up to one, as pieces: the last of these, and nanoseconds.
  struct End {
    Piece piece;
    double cost = 0;       // of all of them
    double with_next = 0;  // and of the layer behind, which may have to wait for room to load
  };

  bool in_stripes(const Layer& l) const {
    const Stage& head = l.stages.front();
    const forms::TileRules r =
        head.form->rules(form_node(plan_, head), plan_.placement.target.machine);
    return !r.sums_pixels && !r.single_rows && head.out.n == 1 && head.in.n == 1 &&
           (!r.sums_channels || head.spec.groups == 1) &&
           std::ranges::none_of(head.operands, [](const StageOperand& o) { return o.what.matrix; });
  }

  Piece plain(std::size_t k) {
    return {{k, k, 0, 0},
            {plan_.layers[k]},
            layer_tasks(plan_, plan_.layers[k], 0),
            {},
            plan_.layers[k].time};
  }
  /// The piece before layer `first`, if nothing else comes between them.
  const Piece* before(std::size_t first) const {
    return follows_[first] ? &ends_[first].piece : nullptr;
  }
  /// Of what comes before the piece in front of layer `first`.
  double cost_before(std::size_t first) const {
    return ends_[first].cost - (follows_[first] ? ends_[first].piece.alone.total : 0);
  }
  const Piece* behind(std::size_t last) const {
    return follows_[last + 1] ? &plain_[last + 1] : nullptr;
  }

  /// Pieces one after the other; null pointers are left out.
  LayerTime in_turn(std::initializer_list<const Piece*> pieces) const {
    std::vector<Layer> layers;
    std::vector<TileTask> tasks;
    for (const Piece* p : pieces) {
      if (p == nullptr) continue;
      for (TileTask task : p->tasks) {
        task.layer += static_cast<std::uint32_t>(layers.size());
        tasks.push_back(std::move(task));
      }
      layers.insert(layers.end(), p->layers.begin(), p->layers.end());
    }
    return time_(plan_, layers, tasks, true);
  }

  /// Sets `with_next`.
  void rate(End& end) const {
    const Cascade& c = end.piece.what;
    end.with_next =
        cost_before(c.first) + in_turn({before(c.first), &end.piece, behind(c.last)}).total;
  }

  /// Below what `rate` says of a piece of these layers: each engine's work, less the bytes that
  /// stay in SRAM.
  double least_ns(std::size_t first, std::size_t last, const Links& links) const {
    LayerTime sum;
    for (std::size_t k = first; k <= last; k++) add(sum, plan_.layers[k].time);
    const Machine& m = plan_.placement.target.machine;
    const double saved = links.saved_bytes / (m.dram_gb_per_s * m.dram_read_efficiency);
    sum.dma_in = std::max(0.0, sum.dma_in - saved);
    sum.dma_out = std::max(0.0, sum.dma_out - saved);
    for (const Piece* p : {before(first), behind(last)})
      if (p != nullptr) add(sum, p->alone);
    return cost_before(first) + sum.busiest();
  }

  /// What several read may be loaded once, and kept for long, or by each, and kept for a moment.
  std::array<std::optional<Links>, 2> ways_to_share(std::size_t first, std::size_t last) const {
    std::array<std::optional<Links>, 2> out{find_links(plan_, buffers_, first, last, rules_), {}};
    if (out[0] && !out[0]->loads.empty())
      out[1] = find_links(plan_, buffers_, first, last, {rules_.results, false});
    return out;
  }

  void try_cascades(std::size_t first, std::size_t last, const Links& links) {
    const std::span<const Layer> layers =
        std::span(std::as_const(plan_.layers)).subspan(first, last + 1 - first);
    double plain = 0;
    for (const Layer& l : layers) plain += l.time.total;
    End& best = ends_[last + 1];
    const auto wanted = [&] {
      return best.with_next - (best.piece.what.stripes > 0 ? 0 : least_gain * plain);
    };
    if (least_ns(first, last, links) >= wanted()) return;
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
        End end;
        end.piece = {
            {first, last, static_cast<std::size_t>(n), static_cast<std::uint32_t>(built->bytes)},
            std::move(built->layers),
            std::move(built->tasks),
            links.gone,
            {}};
        rate(end);
        if (end.with_next < wanted()) best = std::move(end);
      }
      timed += fits;
    }
  }

  Plan plan_;
  const TaskTimer& time_;
  const ShareRules rules_;
  const std::uint32_t cores_;
  const std::vector<BufferUses> buffers_;
  // By layer, and one more: it comes right after the one before; the two may share stripes.
  std::vector<bool> follows_, joined_;
  std::vector<Piece> plain_;  // by layer
  std::vector<End> ends_;     // by the layer behind
};

}  // namespace

std::vector<ChosenCascade> choose_cascades(const Plan& plan, const Grouping& grouping,
                                           const PlanOptions& options, std::uint32_t cores) {
  return Cascader(plan, grouping, options, cores).run();
}

}  // namespace longshore::plan
