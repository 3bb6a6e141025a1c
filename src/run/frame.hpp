// Shared by the files of src/run: a program while it runs.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "run/buffer.hpp"
#include "run/context.hpp"
#include "run/loaded.hpp"

namespace longshore {

/// Memory that all programs at one nesting depth share: only one of them runs at a time.
struct Level {
  Buffer arena, scratch;
  std::vector<Buffer> floats;  // dequantised inputs and outputs of the running step
};

/// What the frames of one context share.
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
  std::vector<Buffer> dynamic;     // of values with Storage::dynamic
  std::vector<TensorView> inputs;  // of the running step
  std::vector<MutableView> outputs;
  std::vector<std::vector<std::unique_ptr<NestedFrame>>> nested;  // of each step

  const Program& program() const noexcept { return *loaded->program; }
};

struct NestedFrame {
  Frame frame;
  std::vector<Buffer> turns[2];  // outputs stay valid until the second next run
  int next = 0;
};

/// Allocates what is known before the first run.
Status make_frame(const LoadedProgram&, Workplace&, Frame&) noexcept;

/// Runs all steps; inputs and captured values are in frame.views.
Status run_frame(Frame&, Workplace&, const StepObserver* = nullptr) noexcept;

/// One step of the main program; what it reads is in frame.views.
Status run_step(Frame&, Workplace&, std::size_t step, const StepObserver* = nullptr) noexcept;

/// The default meaning on quantised values: dequantise, eval, quantise, with buffers that stay.
Status eval_dequantised(const Operator&, EvalContext&, std::vector<Buffer>& floats,
                        MemoryBudget&) noexcept;

}  // namespace longshore
