// What src/program/instructions/<name>.cpp defines.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "base/list.hpp"
#include "base/status.hpp"
#include "program/field.hpp"
#include "program/machine.hpp"
#include "program/region.hpp"

namespace longshore {

/// A function on the operands of one instruction as one on bytes: erased<f>(operands, ...) calls
/// f(const T&, ...).
template <class F>
struct Eraser;
template <class R, class T, class... Rest>
struct Eraser<R (*)(const T&, Rest...)> {
  template <R (*f)(const T&, Rest...)>
  static R call(const void* operands, Rest... rest) {
    return f(*static_cast<const T*>(operands), static_cast<Rest>(rest)...);
  }
};
template <auto f>
inline constexpr auto erased = &Eraser<decltype(f)>::template call<f>;

/// The struct of the operands.
struct OperandStruct {
  std::size_t size_bytes = 0;
  const void* defaults = nullptr;
};
template <class T>
inline constexpr T default_operands{};
template <Operands T>
constexpr OperandStruct operand_struct() {
  static_assert(sizeof(T) <= Operation::capacity);
  return {sizeof(T), &default_operands<T>};
}

/// An instruction, without its execution and its time, which src/sim/instructions/ has.
struct InstructionDef {
  const char* name;  // as listings print it and bundles name it
  const char* doc;
  List<Queue, 4> queues;  // where it may stand
  bool control = false;   // moves no bytes and takes no time
  OperandStruct operands;
  std::span<const Field> fields;
  /// Vector functions that it may need, and the one that these operands need.
  List<const VectorFunction*, 4> functions = {};
  const VectorFunction& (*function)(const void*) = nullptr;
  /// Adds what it reads, then what it writes.
  void (*regions)(const void*, Queue, Regions&) = nullptr;
  /// What fields and regions alone cannot say; runs after the check of fields, before that of
  /// regions.
  Status (*check)(const void*, const Machine&, Queue) = nullptr;
  std::uint64_t (*macs)(const void*) = nullptr;
  /// False: with these operands, no region and no formula has that one in it. Default: true.
  bool (*uses)(const void*, std::string_view field) = nullptr;
};

namespace instructions {
/// All, by the names of their files.
std::span<const InstructionDef* const> all();
}  // namespace instructions

/// By name; null: there is none.
const InstructionDef* instruction_named(std::string_view) noexcept;

inline bool uses(const Operation& o, std::string_view field) noexcept {
  return o.def().uses == nullptr || o.def().uses(o.operands(), field);
}

}  // namespace longshore
