#include "sim/order.hpp"

#include <algorithm>

#include "program/instructions/signal.hpp"
#include "program/instructions/wait.hpp"

namespace longshore {
namespace {

enum class Kind : std::uint8_t { effect, wait, signal, nothing };
struct Item {
  Kind kind = Kind::nothing;
  std::uint32_t semaphore = 0, count = 1;
};

struct Given {
  std::uint64_t total;  // units given so far, this signal's included
  EngineId engine;
  std::uint32_t index;
  std::vector<std::uint32_t> clock;
};

struct Use {
  std::vector<EngineId> signallers, waiters;
  Location last_signal, last_wait;
  std::uint64_t signalled = 0, waited = 0;
};

class Builder {
 public:
  Builder(const Program& program, std::vector<OrderProblem>& problems)
      : program_(program),
        problems_(problems),
        lists_(engine_lists(program)),
        cpu_(cpu_engine(program.machine)) {
    order_.engines = static_cast<std::uint32_t>(lists_.size());
  }

  Order run() {
    check_semaphores();
    if (problems_.empty()) advance_all();
    return std::move(order_);
  }

 private:
  Item item(EngineId e, std::uint32_t index) const {
    if (e == cpu_) {
      const Step& s = program_.steps[index];
      if (s.kind == Step::Kind::wait) return {Kind::wait, s.semaphore, 1};
      if (s.kind == Step::Kind::signal) return {Kind::signal, s.semaphore, 1};
      return {s.kind == Step::Kind::view ? Kind::nothing : Kind::effect};
    }
    const Operation& operation = program_.queues[e % queue_count][index].operation;
    if (const auto* w = operation.get_if<Wait>()) return {Kind::wait, w->semaphore, w->count};
    if (const auto* s = operation.get_if<Signal>()) return {Kind::signal, s->semaphore, s->count};
    return {is_control(operation) ? Kind::nothing : Kind::effect};
  }

  std::string place(const Location& l) const {
    return engine_name(program_.machine, l.engine) + "[" + std::to_string(l.index) + "]";
  }

  void problem(bool deadlock, const Location& first, const Location& second, std::string text) {
    problems_.push_back({deadlock, first, second, std::move(text)});
  }

  void check_semaphores() {
    std::vector<Use> uses(program_.machine.semaphores);
    waiter_.assign(program_.machine.semaphores, 0);
    const auto note = [&](std::uint32_t id, std::vector<EngineId>& engines, EngineId e,
                          const Location& here, const Location& other, const char* what) {
      if (std::find(engines.begin(), engines.end(), e) != engines.end()) return;
      engines.push_back(e);
      if (engines.size() == 2)
        problem(false, other, here,
                "semaphore " + std::to_string(id) + " is " + what +
                    " two engines: " + place(other) + " and " + place(here));
    };
    for (EngineId e = 0; e < lists_.size(); e++)
      for (std::uint32_t index : lists_[e]) {
        const Item i = item(e, index);
        if (i.kind != Kind::wait && i.kind != Kind::signal) continue;
        Use& use = uses[i.semaphore];
        const Location here{true, e, index};
        if (i.kind == Kind::signal) {
          note(i.semaphore, use.signallers, e, here, use.last_signal, "signalled by");
          use.last_signal = here;
          use.signalled += i.count;
        } else {
          note(i.semaphore, use.waiters, e, here, use.last_wait, "waited for by");
          waiter_[i.semaphore] = e;
          use.last_wait = here;
          use.waited += i.count;
        }
      }
    for (std::uint32_t id = 0; id < uses.size(); id++) {
      const Use& use = uses[id];
      if (use.signalled == use.waited) continue;
      const std::string counts = "semaphore " + std::to_string(id) + " is given " +
                                 std::to_string(use.signalled) + " and taken " +
                                 std::to_string(use.waited) + " in all";
      if (use.signalled == 0)
        problem(false, use.last_wait, {},
                counts + ": " + place(use.last_wait) + " waits without a signal");
      else if (use.waited == 0)
        problem(false, use.last_signal, {},
                counts + ": nobody waits for " + place(use.last_signal));
      else
        problem(false, use.last_signal, use.last_wait,
                counts + ": last given by " + place(use.last_signal) + ", last taken by " +
                    place(use.last_wait));
    }
  }

  void advance_all() {
    const std::size_t n = lists_.size();
    next_.assign(n, 0);
    clock_.assign(n, std::vector<std::uint32_t>(n, 0));
    row_.assign(n, no_index);
    given_.resize(program_.machine.semaphores);
    taken_.assign(program_.machine.semaphores, 0);
    taken_at_.resize(program_.machine.semaphores);
    surely_.resize(program_.machine.semaphores);
    bool moved = true;
    while (moved) {
      moved = false;
      for (EngineId e = 0; e < n; e++)
        while (next_[e] < lists_[e].size() && step(e)) moved = true;
    }
    // The caller reads the outputs when the CPU's list ends.
    if (next_[cpu_] == lists_[cpu_].size())
      event(cpu_, static_cast<std::uint32_t>(program_.steps.size()));
    for (EngineId e = 0; e < n; e++)
      if (next_[e] < lists_[e].size()) deadlock(e);
  }

  void event(EngineId e, std::uint32_t index) {
    if (row_[e] == no_index) {  // the clock changed since the engine's last event
      row_[e] = static_cast<std::uint32_t>(order_.clocks.size() / order_.engines);
      order_.clocks.insert(order_.clocks.end(), clock_[e].begin(), clock_[e].end());
      // Its own past is ordered by the list, whatever the row says.
      order_.clocks[std::size_t{row_[e]} * order_.engines + e] = no_index;
    }
    order_.events.push_back({e, index, static_cast<std::uint32_t>(next_[e]), row_[e]});
  }

  bool step(EngineId e) {
    const std::uint32_t index = lists_[e][next_[e]];
    const Item i = item(e, index);
    if (i.kind == Kind::effect) event(e, index);
    if (i.kind == Kind::signal) {
      auto& given = given_[i.semaphore];
      std::vector<std::uint32_t> clock = clock_[e];
      clock[e] = static_cast<std::uint32_t>(next_[e]);
      const std::uint64_t total = (given.empty() ? 0 : given.back().total) + i.count;
      check_limit(e, index, i.semaphore, total);
      given.push_back({total, e, index, std::move(clock)});
    }
    if (i.kind == Kind::wait) {
      const auto& given = given_[i.semaphore];
      const std::uint64_t total = taken_[i.semaphore] + i.count;
      const auto match =
          std::lower_bound(given.begin(), given.end(), total,
                           [](const Given& g, std::uint64_t t) { return g.total < t; });
      if (match == given.end()) return false;
      taken_[i.semaphore] = total;
      taken_at_[i.semaphore].push_back({static_cast<std::uint32_t>(next_[e]), total});
      for (std::size_t other = 0; other < clock_[e].size(); other++)
        if (other != e) clock_[e][other] = std::max(clock_[e][other], match->clock[other]);
      row_[e] = no_index;
    }
    next_[e]++;
    return true;
  }

  /// A semaphore may count only so far: units given less those surely taken.
  void check_limit(EngineId e, std::uint32_t index, std::uint32_t id, std::uint64_t total) {
    if (total <= program_.machine.semaphore_limit) return;
    // taken_at_ is by the waiter's position; the signaller's clock says how far the waiter surely
    // is, and only grows.
    Surely& surely = surely_[id];
    const auto& taken_at = taken_at_[id];
    const std::uint32_t clock = clock_[e][waiter_[id]];
    while (surely.next < taken_at.size() && taken_at[surely.next].first < clock)
      surely.taken = taken_at[surely.next++].second;
    const std::uint64_t taken = surely.taken;
    if (total - taken > program_.machine.semaphore_limit)
      problem(false, {true, e, index}, {},
              "semaphore " + std::to_string(id) + " may count beyond " +
                  std::to_string(program_.machine.semaphore_limit) + " at " +
                  place({true, e, index}));
  }

  void deadlock(EngineId e) {
    const std::uint32_t index = lists_[e][next_[e]];
    const Item wait = item(e, index);
    const std::uint64_t total = taken_[wait.semaphore] + wait.count;
    // The signal that would help, further down in the list of its engine.
    std::uint64_t given = given_[wait.semaphore].empty() ? 0 : given_[wait.semaphore].back().total;
    for (EngineId other = 0; other < lists_.size(); other++)
      for (std::size_t at = next_[other]; at < lists_[other].size(); at++) {
        const Item i = item(other, lists_[other][at]);
        if (i.kind != Kind::signal || i.semaphore != wait.semaphore) continue;
        given += i.count;
        if (given < total) continue;
        const Location signal{true, other, lists_[other][at]},
            blocker{true, other, lists_[other][next_[other]]};
        return problem(true, {true, e, index}, signal,
                       "deadlock: " + place({true, e, index}) + " waits for semaphore " +
                           std::to_string(wait.semaphore) + ", which " + place(signal) +
                           " would signal, but " + place(blocker) + " blocks that engine");
      }
  }

  const Program& program_;
  std::vector<OrderProblem>& problems_;
  std::vector<std::vector<std::uint32_t>> lists_;
  EngineId cpu_;
  Order order_;
  std::vector<std::size_t> next_;
  std::vector<std::vector<std::uint32_t>> clock_;
  std::vector<std::uint32_t> row_;
  std::vector<std::vector<Given>> given_;
  std::vector<std::uint64_t> taken_;
  std::vector<std::vector<std::pair<std::uint32_t, std::uint64_t>>>
      taken_at_;  // position, units so far
  /// What its signaller knows of a semaphore's waiter.
  struct Surely {
    std::size_t next = 0;     // into taken_at_
    std::uint64_t taken = 0;  // units
  };
  std::vector<Surely> surely_;
  std::vector<EngineId> waiter_;  // by semaphore
};

}  // namespace

Order order_of(const Program& program, std::vector<OrderProblem>& problems) {
  return Builder(program, problems).run();
}

}  // namespace longshore
