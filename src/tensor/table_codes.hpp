// A function of 16-bit codes by a table of 513 entries and straight lines between them. The
// reference, the runtime and the simulator call these functions; docs/numbers.md states them as
// formulas.
#pragma once
#include <cstdint>

#include "tensor/eval_context.hpp"

namespace longshore {

/// So many codes lie between two entries of the table.
inline constexpr std::int32_t wide_table_step = 128;
inline constexpr std::size_t wide_table_entries = 65536 / wide_table_step + 1;

/// The code whose result entry i is: -32768, -32640, ... 32768. The last one is no code, but the
/// number that it would stand for is known.
constexpr std::int32_t wide_table_code(std::size_t i) {
  return static_cast<std::int32_t>(i) * wide_table_step - 32768;
}

/// On the straight line between the entries around the code, rounded half up.
inline std::int16_t interpolated(const std::int16_t* entries, std::int16_t code) noexcept {
  const std::int32_t at = code + 32768, part = at % wide_table_step;
  const std::int16_t* entry = entries + at / wide_table_step;
  const std::int32_t rise = (entry[1] - entry[0]) * part + wide_table_step / 2;
  return static_cast<std::int16_t>(entry[0] + (rise >> 7));  // floor(rise / 128)
}

/// Whether a function of one number is computed that way: 16-bit codes of one scale in and out,
/// and of every other input at most one number.
bool takes_wide_table(const EvalContext&) noexcept;

/// Entry i is quantise(f(dequantise(wide_table_code(i)))), f the float reference `eval`.
Status make_wide_table(Status (*eval)(EvalContext&) noexcept, const EvalContext&,
                       std::int16_t* entries) noexcept;

/// All codes of input 0. Uses no heap.
Status eval_wide_table(Status (*eval)(EvalContext&) noexcept, EvalContext&) noexcept;

}  // namespace longshore
