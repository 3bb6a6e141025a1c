// The tiles of a layer in order, and which slot each of its operands goes to.
#include "plan/slot_turns.hpp"
#include "plan/stages.hpp"

namespace longshore::plan {
namespace {

class Scheduler {
 public:
  Scheduler(const Plan& plan, const Layer& layer, std::uint32_t number)
      : plan_(plan), l_(layer), head_(layer.stages.front()), number_(number) {
    for (const Stage& s : layer.stages) {
      results_.emplace_back(s.result);
      for (const StageOperand& o : s.operands) operands_.emplace_back(o.slots);
    }
  }

  std::vector<TileTask> run() {
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
      return std::move(tasks_);
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
    return std::move(tasks_);
  }

 private:
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

  /// One tile in as many turns as sums need.
  void add(const Box& out, const std::vector<Box>& turns) {
    const std::uint32_t to = results_.front().next();
    for (std::size_t i = 0; i < turns.size(); i++) {
      TileTask task;
      task.layer = number_;
      task.box = {out, turns[i], i == 0, i + 1 == turns.size()};
      if (!l_.accumulators.addresses.empty()) task.accumulators = l_.accumulators.addresses[0];
      std::size_t at = 0;
      for (std::size_t s = 0; s < l_.stages.size(); s++) {
        if (s > 0 && !task.box.ends) break;
        task.results.push_back(s == 0 ? to : results_[s].next());
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
        task.operands.push_back(operands_[at].take(s.form->reach(n, i, task.box)));
    }
  }

  const Plan& plan_;
  const Layer& l_;
  const Stage& head_;
  std::uint32_t number_;
  std::vector<SlotTurns> operands_, results_;
  std::vector<TileTask> tasks_;
};

}  // namespace

std::vector<TileTask> layer_tasks(const Plan& plan, const Layer& layer, std::uint32_t number) {
  return Scheduler(plan, layer, number).run();
}

}  // namespace longshore::plan
