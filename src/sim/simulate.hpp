#pragma once
#include <cstddef>
#include <optional>
#include <span>

#include "sim/execute.hpp"
#include "sim/schedule.hpp"

namespace longshore {

/// Whoever runs the CPU's steps: src/run, or a test.
class Host {
 public:
  /// Runs Program::steps[index], an operator. `arena` is the CPU's view of Program::arena_bytes.
  virtual Status run_step(const Step&, std::size_t index, std::span<std::byte> arena) noexcept = 0;

 protected:
  ~Host() = default;
};

struct SimulatorOptions {
  bool poison = false;  // an NPU read of a byte that nobody wrote is an error; slower
  bool trace = false;   // keeps Schedule::trace, for stepping
};

/// A program made ready: checked, timed, with its memories. Not for two threads at once. The
/// program must outlive it.
class Simulator {
 public:
  static Result<Simulator> create(const Program&, SimulatorOptions = {}) noexcept;

  const Timing& timing() const noexcept { return schedule_.timing; }

  /// One inference with exact bytes, in the order of the schedule. `arena` is the CPU's view of the
  /// arena (Program::arena_bytes); with a coherent machine the NPU works on it as well. SRAM and
  /// DRAM begin unwritten. An error names the instruction.
  Status run(std::span<std::byte> arena, Host&) noexcept;
  /// The same in a legal order drawn at random.
  Status run_in_random_order(std::span<std::byte> arena, Host&, std::uint64_t seed) noexcept;

  /// The same one at a time: `start`, then `step` for each of an order. Control instructions and
  /// the CPU's signals and waits do nothing.
  Status start(std::span<std::byte> arena) noexcept;
  Status step(const Effect&, std::span<std::byte> arena, Host&) noexcept;
  std::span<const Retired> trace() const noexcept { return schedule_.trace; }

  /// For tests and debuggers.
  NpuMemory& memory() noexcept { return *memory_; }

 private:
  explicit Simulator(const Program& program) : program_(&program) {}
  Status run(std::span<std::byte> arena, Host&, std::span<const Effect>);
  Status execute_one(const Effect&, std::span<std::byte> arena, Host&);

  void mark_written(std::uint32_t value) noexcept;

  const Program* program_;
  Schedule schedule_;
  std::optional<NpuMemory> memory_;
  Workspace workspace_;
};

/// Time alone: check, then schedule.
Result<Timing> predict(const Program&) noexcept;

}  // namespace longshore
