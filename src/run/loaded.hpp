// Shared by the files of src/run: a Program after load.
#pragma once
#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "cpu/bind.hpp"
#include "run/model.hpp"

namespace longshore {

struct LoadedProgram;

struct LoadedStep {
  const Step* step = nullptr;
  const Operator* op = nullptr;              // null: `kernel` does it, or there is nothing to do
  std::unique_ptr<cpu::BoundKernel> kernel;  // null: op->eval
  bool quantised = false;
  bool known_scratch = false;  // scratch_bytes holds for every run
  std::uint64_t scratch_bytes = 0;
  std::vector<std::unique_ptr<LoadedProgram>> nested;
};

struct LoadedProgram {
  const Program* program = nullptr;
  std::vector<LoadedStep> steps;
  int depth = 0;                                  // 0: the main program
  std::size_t most_inputs = 0, most_outputs = 0;  // of one step
  /// Of each value with Storage::dynamic: which of its depth's growable buffers it has.
  std::vector<std::uint32_t> buffer;
  std::uint32_t buffers = 0;
};

struct LoadedModel {
  Program program;
  LoadOptions options;
  std::vector<Operator> operators;
  LoadedProgram main;
  /// By nesting depth, the most that one program there needs.
  std::vector<std::uint64_t> arena_bytes, scratch_bytes;
  bool open_dims = false;  // an input has unknown dims
  /// What kernels packed: one for the model and all programs that are made of it.
  std::shared_ptr<cpu::PackCache> packs;

  /// A program made for given dims of the inputs.
  struct Special {
    std::vector<Shape> dims;
    std::shared_ptr<const LoadedModel> model;  // null: a thread is making it, others wait
  };
  mutable std::mutex mutex;
  mutable std::condition_variable made;
  mutable std::vector<Special> specials;  // used last at the end
};

/// Programs for so many dims are kept, by a model and by each of its contexts.
inline constexpr std::size_t most_specials = 16;

/// Everything about one program (and those nested in it) that must hold before it may run.
Status check_program(const Program&, int depth);

/// Checks the program, finds operators, binds kernels, which share `packs`.
Result<std::shared_ptr<const LoadedModel>> load_model(Program, const LoadOptions&,
                                                      std::shared_ptr<cpu::PackCache> packs);

/// The program for inputs of these dims: from the model's cache, or made now, once for all threads
/// that ask.
Result<std::shared_ptr<const LoadedModel>> special_model(const LoadedModel&,
                                                         std::span<const TensorView> inputs);

inline bool same_dims(std::span<const Shape> dims, std::span<const TensorView> inputs) noexcept {
  return std::equal(dims.begin(), dims.end(), inputs.begin(), inputs.end(),
                    [](const Shape& s, const TensorView& t) { return s == t.shape; });
}

/// Bytes of a value with fixed dims.
inline std::uint64_t value_bytes(const ProgramValue& v) {
  return static_cast<std::uint64_t>(v.shape.elements()) * size_bytes(v.dtype);
}

}  // namespace longshore
