#include "sim/inject.hpp"

#include <cstdio>
#include <random>
#include <type_traits>
#include <vector>

#include "program/fields.hpp"

namespace longshore {
namespace {

using Random = std::mt19937_64;

template <class T>
std::string text(const T& value) {
  char out[48];
  if constexpr (std::is_same_v<T, float>)
    std::snprintf(out, sizeof out, "%.9g", static_cast<double>(value));
  else
    std::snprintf(out, sizeof out, "%lld", static_cast<long long>(value));
  return out;
}

/// How many values a flag may take.
template <class T>
constexpr unsigned choices() {
  if constexpr (std::is_same_v<T, Rounding> || std::is_same_v<T, Eltwise::Function>) return 3;
  return 2;
}

template <class T>
T other(const T& value, Role role, std::uint32_t semaphores, Random& random) {
  if constexpr (std::is_same_v<T, bool> || std::is_enum_v<T>) {
    constexpr unsigned n = choices<T>();
    return static_cast<T>((static_cast<unsigned>(value) + 1 + random() % (n - 1)) % n);
  } else if constexpr (std::is_same_v<T, float>) {
    static constexpr float factors[] = {0.5f, 0.9f, 0.99f, 1.01f, 1.1f, 2.0f};
    return value * factors[random() % std::size(factors)];
  } else if constexpr (std::is_same_v<T, std::int8_t>) {
    return static_cast<T>(value ^ static_cast<T>(1 + random() % 255));
  } else if constexpr (std::is_same_v<T, std::int32_t>) {
    const auto step = static_cast<std::int32_t>(1 + random() % 8);
    return value + (random() % 2 ? step : -step);
  } else {
    if (role == Role::semaphore && semaphores > 1)
      return static_cast<T>((value + 1 + random() % (semaphores - 1)) % semaphores);
    // Near misses are the changes that are easy to overlook: one more, one element or one line
    // further, double, half, a flipped bit.
    switch (random() % 4) {
      case 0:
        return value + 1;
      case 1:
        return value >= 16 ? value - 16 : value + 16;
      case 2:
        return value > 1 ? value / 2 : value + 2;
      default:
        return value ^ (T{1} << random() % 20);
    }
  }
}

}  // namespace

std::optional<Injection> inject(const Program& program, std::uint64_t seed) {
  Random random(seed * 0x9e3779b97f4a7c15u + 1);
  struct Place {
    int queue;
    std::size_t index;
    unsigned field;
  };
  // Evenly over the operands, not over the instructions: most of those are waits and signals.
  std::vector<Place> places;
  for (int q = 0; q < queue_count; q++)
    for (std::size_t i = 0; i < program.queues[q].size(); i++)
      std::visit(
          [&](const auto& operation) {
            unsigned field = 0;
            each_field(operation, [&](const char*, Role, const auto&) {
              places.push_back({q, i, field++});
            });
          },
          program.queues[q][i].operation);
  if (places.empty()) return std::nullopt;
  const Place at = places[random() % places.size()];

  Injection result{program, static_cast<Queue>(at.queue), at.index};
  Operation& operation = result.program.queues[at.queue][at.index].operation;
  std::visit(
      [&](auto& o) {
        unsigned field = 0;
        each_field(o, [&](const char* name, Role role, auto& member) {
          if (field++ != at.field) return;
          result.field = name;
          result.role = role;
          result.before = text(member);
          member = other(member, role, program.machine.semaphores, random);
          result.after = text(member);
        });
      },
      operation);
  result.text = std::string(name(result.queue)) + "[" + std::to_string(at.index) + "] " +
                name(operation) + ": " + result.field + " " + result.before + " -> " + result.after;
  return result;
}

}  // namespace longshore
