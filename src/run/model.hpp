#pragma once
#include <functional>
#include <memory>
#include <span>

#include "cpu/kernel.hpp"
#include "program/program.hpp"
#include "run/operator.hpp"

namespace longshore {

struct LoadedModel;

/// Makes the Program for these dims of the inputs (compiler side: infer, optimise, lower).
using Specialise = std::function<Result<Program>(std::span<const Shape>)>;

struct LoadOptions {
  std::span<const Operator> operators;  // copied; the functions and schemas must stay
  bool fast_kernels = true;             // false: only the operators' own eval
  bool limit_isa = false;               // true: `isa` is the best that may be used
  cpu::Isa isa = cpu::Isa::generic;
  /// For a Program whose inputs have unknown dims; without it, generic kernels run it as it is.
  Specialise specialise;
  std::uint64_t memory_limit_bytes = std::uint64_t{1} << 36;
};

/// A program with its kernels bound and weights packed: immutable, cheap to copy, shared by any
/// number of contexts and threads. Programs for other dims share its constants and what was packed.
class Model {
 public:
  /// Checks every index, size and offset: the program may come from a hostile file.
  static Result<Model> load(Program, const LoadOptions&);

  const Program& program() const noexcept;
  /// The kernel that runs a step, for reports: "gemm_f32 avx512", "eval", or "" for no work.
  const char* kernel_name(std::size_t step) const noexcept;
  /// Bytes that a context takes before it runs: arena of the program and of nested ones, scratch.
  std::uint64_t context_bytes(int threads) const noexcept;
  /// Bytes of weights that kernels packed so far, for this program and those for other dims.
  std::uint64_t packed_bytes() const noexcept;

 private:
  friend class Context;
  std::shared_ptr<const LoadedModel> loaded_;
};

}  // namespace longshore
