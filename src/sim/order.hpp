// What must happen before what: queues and semaphores as vector clocks.
#pragma once
#include <cstdint>
#include <vector>

#include "sim/schedule.hpp"

namespace longshore {

/// An instruction or step by place. `index` is into Program::queues[engine % queue_count], or
/// Program::steps for the CPU; its end (the caller reads the outputs) has index steps.size().
struct Location {
  bool present = false;
  EngineId engine = 0;
  std::uint32_t index = 0;
  bool operator==(const Location&) const = default;
};

/// Everything with effects in one legal order, each with its clock.
struct Order {
  struct Event {
    EngineId engine;
    std::uint32_t index;     // as Location
    std::uint32_t position;  // in the engine's list
    std::uint32_t clock;     // row of clocks
  };
  std::vector<Event> events;
  std::uint32_t engines = 0;
  /// clocks[row * engines + e]: how many items of engine e's list are done before the event starts.
  std::vector<std::uint32_t> clocks;

  /// Event `a` ends before event `b` starts, in every run.
  bool before(std::uint32_t a, std::uint32_t b) const noexcept {
    return clocks[std::size_t{events[b].clock} * engines + events[a].engine] > events[a].position;
  }
};

/// Why there is no Order.
struct OrderProblem {
  bool deadlock = false;  // otherwise a rule of semaphores is broken
  Location first, second;
  std::string text;
};

/// One engine signals a semaphore and one waits for it, so the n-th unit taken is the n-th given
/// and each wait has one signal that it follows. Fills `problems` and returns an order that stops
/// at a deadlock.
Order order_of(const Program&, std::vector<OrderProblem>& problems);

}  // namespace longshore
