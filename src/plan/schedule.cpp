// The tiles of a layer in order, and which slot each of its operands goes to.
#include "plan/slot_turns.hpp"
#include "plan/stages.hpp"

namespace longshore::plan {
namespace {

class Scheduler {
 public:
  Scheduler(const Plan& plan, const Layer& layer, std::uint32_t number)
      : plan_(plan), l_(layer), head_(layer.stages.front()), number_(number) {
    cores_ =
        layer.split == Split::none ? 1 : std::min(most_cores, plan.placement.target.machine.cores);
    turns_.resize(cores_);
    for (Turns& t : turns_)
      for (const Stage& s : layer.stages) {
        t.results.emplace_back(s.result);
        for (const StageOperand& o : s.operands) t.operands.emplace_back(o.slots);
      }
  }

  /// The tiles, dealt out: the first of each core, then the second of each ...
  std::vector<TileTask> run() {
    list();
    for (Tile& t : tiles_) t.core = core_of(t.box);
    std::vector<std::vector<const Tile*>> by_core(cores_);
    for (const Tile& t : tiles_) by_core[t.core].push_back(&t);
    for (std::size_t i = 0, left = tiles_.size(); left > 0; i++)
      for (const std::vector<const Tile*>& own : by_core)
        if (i < own.size()) emit(*own[i]), left--;
    return std::move(tasks_);
  }

 private:
  /// One tile in as many turns as sums need.
  struct Tile {
    Box box;
    std::vector<Box> turns;
    std::uint32_t core = 0;
  };
  /// What a core's slots hold.
  struct Turns {
    std::vector<SlotTurns> operands, results;
  };

  /// In equal shares of the axis that is split: all of one share are on one core.
  std::uint32_t core_of(const Box& box) const {
    const auto share = [&](std::int64_t at, std::int64_t of) {
      return static_cast<std::uint32_t>(at * cores_ / of);
    };
    const Tiling& t = l_.tiling;
    const Extent& out = head_.out;
    if (l_.split == Split::channels)
      return share(box.c.from / t.channels, forms::divide_up(out.c, t.channels));
    if (l_.split == Split::none) return 0;
    const std::int64_t rows = forms::divide_up(out.h, t.rows),
                       columns = forms::divide_up(out.w, t.columns);
    return share((box.n * rows + box.h.from / t.rows) * columns + box.w.from / t.columns,
                 out.n * rows * columns);
  }

  void list() {
    const Machine& m = plan_.placement.target.machine;
    const forms::TileRules rules = head_.form->rules(form_node(plan_, head_), m);
    const Tiling& t = l_.tiling;
    const Extent& out = head_.out;
    if (rules.sums_channels) {
      const std::int64_t groups = head_.spec.groups, each = out.c / groups,
                         in = head_.in.c / groups;
      for (std::int64_t g = 0; g < groups; g++) {
        const auto tile = [&](Box box, std::int64_t c) {
          box.c = {g * each + c, g * each + std::min(each, c + t.channels)};
          std::vector<Box> turns;
          for (std::int64_t k = 0; k < in; k += t.in_channels)
            turns.push_back({0, {}, {}, {k, std::min(in, k + t.in_channels)}});
          add(box, turns);
        };
        if (t.weights_outer) {
          for (std::int64_t c = 0; c < each; c += t.channels)
            pixels(out, [&](const Box& box) { tile(box, c); });
        } else {
          pixels(out, [&](const Box& box) {
            for (std::int64_t c = 0; c < each; c += t.channels) tile(box, c);
          });
        }
      }
      return;
    }
    for (std::int64_t n = 0; n < out.n; n++)
      for (std::int64_t c = 0; c < out.c; c += t.channels) {
        const Span channels = {c, std::min(out.c, c + t.channels)};
        if (!rules.sums_pixels) {
          plane(n, out, [&](Box box) {
            box.c = channels;
            add(box, {{}});
          });
          continue;
        }
        std::vector<Box> turns;
        plane(n, head_.in, [&](const Box& box) { turns.push_back({0, box.h, box.w, {}}); });
        add({n, {0, 1}, {0, 1}, channels}, turns);
      }
  }

  template <class F>
  void plane(std::int64_t n, const Extent& e, F&& f) const {
    const Tiling& t = l_.tiling;
    for (std::int64_t y = 0; y < e.h; y += t.rows)
      for (std::int64_t x = 0; x < e.w; x += t.columns)
        f(Box{n, {y, std::min(e.h, y + t.rows)}, {x, std::min(e.w, x + t.columns)}, {}});
  }
  template <class F>
  void pixels(const Extent& e, F&& f) const {
    for (std::int64_t n = 0; n < e.n; n++) plane(n, e, f);
  }

  void add(const Box& out, const std::vector<Box>& turns) { tiles_.push_back({out, turns}); }

  void emit(const Tile& tile) {
    Turns& held = turns_[tile.core];
    const std::uint32_t to = held.results.front().next();
    for (std::size_t i = 0; i < tile.turns.size(); i++) {
      TileTask task;
      task.layer = number_;
      task.core = static_cast<std::uint8_t>(tile.core);
      task.box = {tile.box, tile.turns[i], i == 0, i + 1 == tile.turns.size()};
      if (!l_.accumulators.addresses.empty()) task.accumulators = l_.accumulators.addresses[0];
      std::size_t at = 0;
      for (std::size_t s = 0; s < l_.stages.size(); s++) {
        if (s > 0 && !task.box.ends) break;
        task.results.push_back(s == 0 ? to : held.results[s].next());
        stage(l_.stages[s], task, at);
      }
      tasks_.push_back(std::move(task));
    }
  }

  void stage(const Stage& s, TileTask& task, std::size_t& at) {
    const FormNode n = form_node(plan_, s);
    for (std::size_t i = 0; i < s.operands.size(); i++, at++) {
      const StageOperand& o = s.operands[i];
      if (o.chained)
        task.operands.push_back({task.results[task.results.size() - 2], true});
      else if (o.what.source == forms::Operand::Source::inside)
        task.operands.push_back({task.results.back(), false});
      else
        task.operands.push_back(turns_[task.core].operands[at].take(s.form->reach(n, i, task.box)));
    }
  }

  const Plan& plan_;
  const Layer& l_;
  const Stage& head_;
  std::uint32_t number_, cores_ = 1;
  std::vector<Turns> turns_;  // by core
  std::vector<Tile> tiles_;
  std::vector<TileTask> tasks_;
};

}  // namespace

std::vector<TileTask> layer_tasks(const Plan& plan, const Layer& layer, std::uint32_t number) {
  return Scheduler(plan, layer, number).run();
}

}  // namespace longshore::plan
