#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/blob.hpp"
#include "program/instruction.hpp"
#include "program/machine.hpp"
#include "tensor/attribute.hpp"
#include "tensor/quant.hpp"
#include "tensor/requantise.hpp"
#include "tensor/state.hpp"
#include "tensor/tensor.hpp"

namespace longshore {

inline constexpr std::uint32_t no_index = 0xffffffffu;

/// Where the bytes of a program's value lie.
enum class Storage : std::uint8_t {
  input,     // the caller's memory (main program), the caller step's views (nested program)
  constant,  // its own blob, or Program::constants at `offset`
  arena,     // the context's arena at `offset`, planned before the run
  dynamic,   // a growable buffer: dims depend on data
  captured,  // nested program: a value of the program around it
  view,      // the bytes of the value `view_of` (an input or captured value) under other dims
};

struct ProgramValue {
  std::string name;
  DType dtype = DType::undefined;
  Shape shape;              // -1 where a dimension is not known
  bool known_rank = true;   // false: shape is empty and says nothing
  bool fixed_shape = true;  // all dimensions are known
  Quantisation quantisation;
  Storage storage = Storage::arena;
  std::uint64_t offset = 0;  // bytes; multiple of 64 in arena and constants
  std::uint32_t view_of = no_index;
  /// A constant's bytes, shared with the graph and with every program made of it. Null: they lie in
  /// Program::constants, the one space that an NPU can address.
  SharedBlob constant;

  QuantView quant() const { return quantisation.view(); }
};

struct Program;

/// A body of If, Loop or Scan. program.captured[i] (value ids of the body with Storage::captured,
/// in order) stand for the outer values captures[i].
struct NestedProgram;

/// One step of the CPU, the fifth queue.
struct Step {
  enum class Kind : std::uint8_t {
    op,          // run operator domain.name; `load` binds the fastest kernel that fits, or eval
    view,        // output 0 has the place of input 0 under other dims: nothing runs; for reports
    wait,        // wait for `semaphore`
    signal,      // add one to `semaphore`
    clean,       // write the cached bytes [offset, offset + bytes) of the arena back to DRAM
    invalidate,  // forget cached bytes of that range
    copy,        // output 0 gets the bytes of input 0, of equal type and dims; needs no operator
  };
  Kind kind = Kind::op;
  std::string domain, name;
  Attributes attributes;
  std::vector<std::uint32_t> inputs, outputs;  // into Program::values; no_index: absent
  std::vector<NestedProgram> nested;
  std::uint32_t semaphore = 0;
  std::uint64_t offset = 0, bytes = 0;
  std::uint32_t layer = no_index;  // into Program::layers: what it belongs to in reports
  double cost_us = 0;              // predicted on the target's host CPU
};

/// It reads its inputs and writes its outputs: the host runs it.
inline bool computes(const Step& s) noexcept {
  return s.kind == Step::Kind::op || s.kind == Step::Kind::copy;
}

/// What the compiler makes and the runtime, the simulator and the bundle share.
struct Program {
  Machine machine;  // machine.present == false: CPU only
  Rounding numbers = Rounding::f32_even;
  std::vector<ProgramValue> values;
  std::vector<std::uint32_t> inputs, outputs, captured;
  std::vector<Step> steps;                       // the CPU's queue
  std::vector<Instruction> queues[queue_count];  // the NPU's, each in order
  std::vector<std::string> layers;  // names of graph nodes, for profiles and comparison
  SharedBlob constants;  // what an NPU reads; in a loaded bundle all; nested programs hold the same
  std::vector<StateSlot> states;        // of the main program
  std::uint64_t arena_bytes = 0;        // DRAM that steps and DMA share
  std::uint64_t arena_lower_bound = 0;  // the most bytes alive at once: no plan needs less
};

/// The bytes of a value with Storage::constant, and what follows them.
inline std::span<const std::byte> constant_bytes(const Program& p, const ProgramValue& v) noexcept {
  if (v.constant) return v.constant->bytes();
  if (!p.constants || v.offset > p.constants->size()) return {};
  return p.constants->bytes().subspan(static_cast<std::size_t>(v.offset));
}

/// Who keeps those bytes alive.
inline const SharedBlob& constant_owner(const Program& p, const ProgramValue& v) noexcept {
  return v.constant ? v.constant : p.constants;
}

struct NestedProgram {
  std::string name;  // then_branch, body, ...
  Program program;
  std::vector<std::uint32_t> captures;  // values of the outer program
};

}  // namespace longshore
