// Shared by the files of src/run: a program while it runs.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "run/buffer.hpp"
#include "run/context.hpp"
#include "run/loaded.hpp"

namespace longshore {

/// The most inputs and outputs, each, of a quantised operator without a formula of its own.
inline constexpr std::size_t most_float_operands = 64;

/// Memory that all programs at one nesting depth share: only one of them runs at a time.
struct Level {
  Buffer arena, scratch;
  std::vector<Buffer> dynamic;  // values whose dims depend on data
  /// Dequantised inputs and outputs of the running step.
  std::vector<Buffer> floats = std::vector<Buffer>(2 * most_float_operands);
  std::vector<Buffer> turns[2];  // outputs of a nested program, valid until the second next run
  int next = 0;
};

/// What the frames of one context share, whatever the number of its programs.
struct Workplace {
  ThreadPool* pool = nullptr;
  MemoryBudget budget;
  std::vector<Level> levels;
};

struct NestedFrame;

/// One program in one context: a view of each value.
struct Frame {
  const LoadedProgram* loaded = nullptr;
  std::vector<TensorView> views;
  std::vector<TensorView> inputs;  // of the running step
  std::vector<MutableView> outputs;
  std::vector<std::vector<std::unique_ptr<NestedFrame>>> nested;  // of each step

  const Program& program() const noexcept { return *loaded->program; }
};

struct NestedFrame {
  Frame frame;
};

/// Allocates what is known before the first run; the workplace has a level for each depth.
Status make_frame(const LoadedProgram&, Workplace&, Frame&);

/// In a program with an NPU values are written by others than steps: shows the arena's bytes.
void show_arena(Frame&, Workplace&) noexcept;

/// Runs all steps; inputs and captured values are in frame.views.
Status run_frame(Frame&, Workplace&, const StepObserver* = nullptr) noexcept;

/// One step of the main program; what it reads is in frame.views.
Status run_step(Frame&, Workplace&, std::size_t step, const StepObserver* = nullptr) noexcept;

/// The default meaning on quantised values: dequantise, eval, quantise, with buffers that stay.
Status eval_dequantised(const Operator&, EvalContext&, std::span<Buffer> floats,
                        MemoryBudget&) noexcept;

}  // namespace longshore
