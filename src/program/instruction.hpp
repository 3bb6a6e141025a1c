// The NPU's instruction set: src/program/instructions/ has one instruction per file, its operands
// as a plain struct, its definition beside it. One instruction works on one tile. Every number is
// plain: an SRAM address counts bytes from the start of the core's SRAM, a stride counts bytes.
// docs/sim.md is the chapter.
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include "tensor/dtype.hpp"

namespace longshore {

/// The NPU's in-order queues; the CPU's steps are a fifth. Each core has an engine of its own per
/// queue: instructions of one queue are ordered among those of the same core only.
enum class Queue : std::uint8_t { dma_in, dma_out, mac, vector };
inline constexpr int queue_count = 4;
const char* name(Queue) noexcept;

/// Extents above this are refused.
inline constexpr std::uint32_t max_extent = 65535;

/// A tile in SRAM: NHWC with batch 1, so that element (y, x, c) lies at address + y * row_stride +
/// x * pixel_stride + c * size_bytes(dtype). Height, width and channels stand beside it in the
/// instruction, which says what dtypes it takes.
struct Tile {
  std::uint32_t address = 0, row_stride = 0, pixel_stride = 0;
  DType dtype = DType::i8;
  bool operator==(const Tile&) const = default;
};

struct InstructionDef;
namespace instructions {
extern const InstructionDef instruction_end;
}

/// What an instruction is asked to do: a plain struct whose `def` is its InstructionDef.
template <class T>
concept Operands = std::is_trivially_copyable_v<T> && std::is_standard_layout_v<T> && requires {
  { (T::def) } -> std::same_as<const InstructionDef&>;
};

/// The operands of any one instruction, by value.
class Operation {
 public:
  static constexpr std::size_t capacity = 248;

  /// End.
  Operation() noexcept : def_(&instructions::instruction_end) {}
  template <Operands T>
  Operation(const T& operands) noexcept : def_(&T::def) {  // NOLINT(google-explicit-constructor)
    static_assert(sizeof(T) <= capacity && alignof(T) <= alignof(std::uint64_t));
    ::new (static_cast<void*>(bytes_)) T(operands);
  }
  /// All operands at their defaults.
  explicit Operation(const InstructionDef&) noexcept;

  const InstructionDef& def() const noexcept { return *def_; }
  template <Operands T>
  bool is() const noexcept {
    return def_ == &T::def;
  }
  /// The operands if it is that instruction, else null.
  template <Operands T>
  const T* get_if() const noexcept {
    return is<T>() ? std::launder(reinterpret_cast<const T*>(bytes_)) : nullptr;
  }
  template <Operands T>
  T* get_if() noexcept {
    return is<T>() ? std::launder(reinterpret_cast<T*>(bytes_)) : nullptr;
  }
  /// For the functions and fields of `def`.
  const void* operands() const noexcept { return bytes_; }
  void* operands() noexcept { return bytes_; }

  /// The same instruction with the same operands, bit for bit.
  bool operator==(const Operation&) const noexcept;

 private:
  const InstructionDef* def_;
  alignas(std::uint64_t) std::byte bytes_[capacity] = {};
};

struct Instruction {
  Queue queue = Queue::dma_in;  // must be that of the list it stands in
  std::uint8_t core = 0;
  std::uint32_t layer = 0xffffffffu;  // into Program::layers, or no_index
  Operation operation;
  bool operator==(const Instruction&) const = default;
};

/// The operation's name as listings print it: dma, conv, wait, ...
const char* name(const Operation&) noexcept;

/// wait, signal, mark, end: it moves no bytes.
bool is_control(const Operation&) noexcept;

/// Multiply-accumulates that the instruction asks for (padding taps included); 0 outside queue mac.
std::uint64_t macs(const Operation&) noexcept;

}  // namespace longshore
