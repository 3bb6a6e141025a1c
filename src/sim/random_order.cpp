#include <random>

#include "base/guard.hpp"
#include "program/instructions/signal.hpp"
#include "program/instructions/wait.hpp"
#include "sim/schedule.hpp"

namespace longshore {

namespace {

Result<std::vector<Effect>> draw_order(const Program& program, std::uint64_t seed) {
  const auto lists = engine_lists(program);
  const EngineId cpu = cpu_engine(program.machine);
  std::vector<std::size_t> next(lists.size(), 0);
  std::vector<std::uint64_t> semaphores(program.machine.semaphores, 0);
  std::vector<Effect> order;
  std::mt19937_64 random(seed);

  const auto try_one = [&](EngineId e) {  // false: blocked
    const std::uint32_t index = lists[e][next[e]];
    std::uint32_t wait = no_index, signal = no_index, count = 1;
    bool effect = false;
    if (e == cpu) {
      const Step& step = program.steps[index];
      if (step.kind == Step::Kind::wait)
        wait = step.semaphore;
      else if (step.kind == Step::Kind::signal)
        signal = step.semaphore;
      else
        effect = true;
    } else {
      const Operation& operation = program.queues[e % queue_count][index].operation;
      if (const auto* w = operation.get_if<Wait>())
        wait = w->semaphore, count = w->count;
      else if (const auto* s = operation.get_if<Signal>())
        signal = s->semaphore, count = s->count;
      else
        effect = !is_control(operation);
    }
    if (wait != no_index) {
      if (semaphores[wait] < count) return false;
      semaphores[wait] -= count;
    }
    if (signal != no_index) semaphores[signal] += count;
    if (effect) order.push_back({e, index});
    next[e]++;
    return true;
  };

  std::vector<EngineId> open;
  while (true) {
    open.clear();
    for (EngineId e = 0; e < lists.size(); e++)
      if (next[e] < lists[e].size()) open.push_back(e);
    if (open.empty()) return order;
    bool moved = false;
    while (!open.empty() && !moved) {
      const std::size_t pick = random() % open.size();
      moved = try_one(open[pick]);
      open.erase(open.begin() + static_cast<std::ptrdiff_t>(pick));
    }
    if (!moved) return Status::error(Code::bad_model, "deadlock");
  }
}

}  // namespace

Result<std::vector<Effect>> random_order(const Program& program, std::uint64_t seed) noexcept {
  return guarded([&] { return draw_order(program, seed); });
}

}  // namespace longshore
