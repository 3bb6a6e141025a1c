#include "sim/simulate.hpp"

#include <utility>

#include "base/guard.hpp"
#include "program/access.hpp"

namespace longshore {
namespace {

std::span<const std::byte> constants_of(const Program& program) {
  return program.constants ? program.constants->bytes() : std::span<const std::byte>();
}

}  // namespace

Result<Simulator> Simulator::create(const Program& program, SimulatorOptions options) noexcept {
  return guarded([&]() -> Result<Simulator> {
    LONGSHORE_TRY(check(program));
    Simulator simulator(program);
    Result<Schedule> schedule = longshore::schedule(program, options.trace);
    if (!schedule.ok()) return schedule.status();
    simulator.schedule_ = std::move(*schedule);
    simulator.memory_.emplace(program.machine, program.machine.present ? program.arena_bytes : 0,
                              constants_of(program), options.poison);
    return simulator;
  });
}

Status Simulator::run(std::span<std::byte> arena, Host& host) noexcept {
  return guarded([&] { return run(arena, host, schedule_.order); });
}

Status Simulator::run_in_random_order(std::span<std::byte> arena, Host& host,
                                      std::uint64_t seed) noexcept {
  const Result<std::vector<Effect>> order = random_order(*program_, seed);
  if (!order.ok()) return order.status();
  return guarded([&] { return run(arena, host, *order); });
}

Status Simulator::run(std::span<std::byte> arena, Host& host, std::span<const Effect> order) {
  LONGSHORE_TRY(start(arena));
  for (const Effect& effect : order) LONGSHORE_TRY(execute_one(effect, arena, host));
  return {};
}

Status Simulator::start(std::span<std::byte> arena) noexcept {
  if (arena.size() != program_->arena_bytes)
    return Status::error(Code::bad_argument, "an arena of %zu bytes, the program needs %llu",
                         arena.size(), static_cast<unsigned long long>(program_->arena_bytes));
  if (program_->machine.coherent && program_->machine.present) memory_->share(arena);
  memory_->reset();
  return {};
}

Status Simulator::step(const Effect& effect, std::span<std::byte> arena, Host& host) noexcept {
  return guarded([&] { return execute_one(effect, arena, host); });
}

Status Simulator::execute_one(const Effect& effect, std::span<std::byte> arena, Host& host) {
  const Program& program = *program_;
  if (effect.engine != cpu_engine(program.machine)) {
    const Instruction& instruction = program.queues[effect.engine % queue_count][effect.index];
    const Status status = execute(instruction, *memory_, workspace_);
    if (!status.ok())
      return Status::error(status.code(), "%s[%u]: %s",
                           engine_name(program.machine, effect.engine).c_str(), effect.index,
                           status.text());
    return {};
  }
  const bool cached = !program.machine.coherent && program.machine.present;
  const Step& step = program.steps[effect.index];
  switch (step.kind) {
    case Step::Kind::op:
    case Step::Kind::copy:
      LONGSHORE_TRY(host.run_step(step, effect.index, arena));
      for (std::uint32_t v : step.outputs) mark_written(v);
      break;
    case Step::Kind::clean:
      if (cached) memory_->clean(arena, step.offset, step.bytes);
      break;
    case Step::Kind::invalidate:
      if (cached) memory_->invalidate(arena, step.offset, step.bytes);
      break;
    default:
      break;
  }
  return {};
}

void Simulator::mark_written(std::uint32_t value) noexcept {
  if (value == no_index || !program_->machine.present) return;
  const ProgramValue& v = program_->values[value];
  if (v.storage == Storage::arena && v.fixed_shape)
    memory_->cpu_wrote(v.offset,
                       static_cast<std::uint64_t>(v.shape.elements()) * size_bytes(v.dtype));
}

Result<Timing> predict(const Program& program) noexcept {
  LONGSHORE_TRY(check(program));
  Result<Schedule> schedule = longshore::schedule(program);
  if (!schedule.ok()) return schedule.status();
  return std::move(schedule->timing);
}

}  // namespace longshore
