#pragma once
#include <memory>
#include <span>

#include "base/threads.hpp"
#include "run/model.hpp"

namespace longshore {

struct Timing;

/// Called after each step (of the CPU, in the main program) with the views of all its values so
/// far.
struct StepObserver {
  void* self = nullptr;
  void (*done)(void* self, const Program&, std::uint32_t step, std::span<const TensorView> values,
               double microseconds) = nullptr;
};

/// One caller's memory for running a Model. Not for two threads at once; make one for each.
class Context {
 public:
  /// Allocates all that the program needs, if its dims are fixed. `threads`: 0 shares the pool of
  /// the process with other contexts, 1 works on the caller's thread alone, more makes a pool of
  /// its own.
  static Result<Context> create(const Model&, int threads = 1);
  Context(Context&&) noexcept;
  Context& operator=(Context&&) noexcept;
  ~Context();

  /// Runs the program; what is for an NPU runs on its simulator, exact in bytes. Dims that are new
  /// may allocate (and specialise the program); known ones allocate nothing. An input that is a
  /// state may be absent: it is then what the last run left. All dims share one arena.
  Status run(std::span<const TensorView> inputs) noexcept;
  /// States are zero again, as before the first run.
  void reset() noexcept;

  /// Views of the last run's outputs, valid until the next run. They may show an input's memory.
  std::size_t output_count() const noexcept;
  TensorView output(std::size_t i) const noexcept;

  /// Predicted time of one run on the NPU's machine; null for a program without an NPU.
  const Timing* timing() const noexcept;

  void observe(StepObserver) noexcept;
  /// The program that ran last: the model's own, or that for the inputs' dims.
  const Program& program() const noexcept;
  /// Bytes that this context holds.
  std::uint64_t memory_bytes() const noexcept;

 private:
  struct State;
  explicit Context(std::unique_ptr<State>);
  std::unique_ptr<State> state_;
};

}  // namespace longshore
