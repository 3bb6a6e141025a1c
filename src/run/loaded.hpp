// Shared by the files of src/run: a Program after load.
#pragma once
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
};

struct LoadedModel {
  Program program;
  LoadOptions options;
  std::vector<Operator> operators;
  LoadedProgram main;
  /// By nesting depth, the most that one program there needs.
  std::vector<std::uint64_t> arena_bytes, scratch_bytes;
  bool open_dims = false;  // an input has unknown dims

  /// Programs made for given dims of the inputs, newest last.
  struct Special {
    std::vector<Shape> dims;
    std::shared_ptr<const LoadedModel> model;
  };
  static constexpr std::size_t most_specials = 16;
  mutable std::mutex mutex;
  mutable std::vector<Special> specials;
};

/// Everything about one program (and those nested in it) that must hold before it may run.
Status check_program(const Program&, int depth);

/// Checks the program, finds operators, binds kernels.
Result<std::shared_ptr<const LoadedModel>> load_model(Program, const LoadOptions&);

/// Bytes of a value with fixed dims.
inline std::uint64_t value_bytes(const ProgramValue& v) {
  return static_cast<std::uint64_t>(v.shape.elements()) * size_bytes(v.dtype);
}

}  // namespace longshore
