#include "sim/inject.hpp"

#include <random>
#include <type_traits>
#include <vector>

#include "program/instruction_def.hpp"
#include "program/print.hpp"

namespace longshore {
namespace {

using Random = std::mt19937_64;

/// Another of the dtypes that the instruction takes.
std::uint8_t other_dtype(std::uint8_t value, Types types) {
  do value = static_cast<std::uint8_t>((value + 1) % dtype_count);
  while (!types.has(DType(value)));
  return value;
}

bool has_choice(const Field& f) {
  return f.role != Role::dtype || (f.types.bits & (f.types.bits - 1)) != 0;
}

template <class T>
T other(const T& value, const Field& field, std::uint32_t semaphores, Random& random) {
  if constexpr (std::is_same_v<T, bool>) {
    return !value;
  } else if constexpr (std::is_same_v<T, std::uint8_t>) {
    if (field.role == Role::dtype) return other_dtype(value, field.types);
    const auto n = static_cast<unsigned>(field.highest) + 1;
    return static_cast<T>((value + 1 + random() % (n - 1)) % n);
  } else if constexpr (std::is_same_v<T, float>) {
    static constexpr float factors[] = {0.5f, 0.9f, 0.99f, 1.01f, 1.1f, 2.0f};
    const float factor = factors[random() % std::size(factors)];
    return value == 0 ? factor : value * factor;
  } else if constexpr (std::is_same_v<T, std::int8_t>) {
    return static_cast<T>(value ^ static_cast<T>(1 + random() % 255));
  } else if constexpr (std::is_same_v<T, std::int32_t>) {
    const auto step = static_cast<std::int32_t>(1 + random() % 8);
    return value + (random() % 2 ? step : -step);
  } else {
    if (field.role == Role::semaphore && semaphores > 1)
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
    const Field* field;
  };
  // Evenly over the operands, not over the instructions: most of those are waits and signals.
  std::vector<Place> places;
  for (int q = 0; q < queue_count; q++)
    for (std::size_t i = 0; i < program.queues[q].size(); i++) {
      const Operation& operation = program.queues[q][i].operation;
      for (const Field& f : operation.def().fields)
        if (has_choice(f) && uses(operation, f.name)) places.push_back({q, i, &f});
    }
  if (places.empty()) return std::nullopt;
  const Place at = places[random() % places.size()];
  const Field& field = *at.field;

  Injection result{program, static_cast<Queue>(at.queue), at.index};
  Operation& operation = result.program.queues[at.queue][at.index].operation;
  result.field = field.name;
  result.role = field.role;
  result.before = print_field(field, operation.operands());
  visit_field(field, operation.operands(), [&](auto& member) {
    member = other(member, field, program.machine.semaphores, random);
  });
  result.after = print_field(field, operation.operands());
  result.instruction =
      queue_name(program.machine, program.queues[at.queue][at.index].core, result.queue) + "[" +
      std::to_string(at.index) + "]";
  result.text = result.instruction + " " + name(operation) + ": " + result.field + " " +
                result.before + " -> " + result.after;
  return result;
}

}  // namespace longshore
