// Emits the instructions of tile tasks as the plan has them: loads, the forms' instructions, stores.
#pragma once
#include <map>

#include "lower/cpu.hpp"
#include "lower/emitter.hpp"
#include "plan/plan.hpp"

namespace longshore::lower {

/// Where in the tap region a value's bytes go, row-major.
struct TapPlace {
  std::uint64_t offset = 0;
  std::array<std::uint64_t, 4> stride{};
  bool present = false;
};

/// Emits tasks of any layers in any order.
class TaskEmitter {
 public:
  /// `taps` by value of the graph; empty: none.
  /// `pack` false: packed constants are not made, for timing.
  TaskEmitter(Emitter&, const plan::Plan&, ConstantPool&, const std::vector<TapPlace>& taps,
              bool pack = true);

  /// The plan's layer, or one that is not in the plan yet.
  void emit(const plan::TileTask&);
  void emit(const plan::Layer&, const plan::TileTask&);

 private:
  class Stage;

  /// The pool's offset of a packed operand.
  std::uint64_t packed(const plan::Layer&, std::size_t stage, std::size_t operand);
  /// Element (n, h, w, c) of a view: its memory and address.
  std::pair<Dram, std::uint64_t> address(const plan::View&, std::int64_t n, std::int64_t h,
                                         std::int64_t w, std::int64_t c);

  Emitter& emitter_;
  const plan::Plan& plan_;
  const Machine& machine_;
  ConstantPool& pool_;
  const std::vector<TapPlace>& taps_;
  const bool pack_;
  std::vector<std::vector<ValueId>> shown_by_;  // by value: aliases of it
  std::map<std::array<std::size_t, 4>, std::uint64_t> packed_;  // node, result, stage, operand
};

}  // namespace longshore::lower
