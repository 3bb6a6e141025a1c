// What instructions of the vector unit have in common: extents, codes and cycles of the elements of
// a tile.
#pragma once
#include <algorithm>

#include "base/error.hpp"
#include "forms/form.hpp"
#include "sim/costs.hpp"

namespace longshore::forms {

/// Every element of the box once.
template <class Instruction>
void set_extent(Instruction& o, const Box& box) {
  o.height = static_cast<std::uint32_t>(box.h.size());
  o.width = static_cast<std::uint32_t>(box.w.size());
  o.channels = static_cast<std::uint32_t>(box.c.size());
}

template <class Instruction>
void set_input_codes(Instruction& o, const FormNode& n) {
  const Codes x = codes_of(n.type(n.data()));
  o.in_scale = x.scale, o.in_zero = x.zero;
}

template <class Instruction>
void set_output_codes(Instruction& o, const FormNode& n) {
  const Codes y = codes_of(n.type(n.result()));
  o.out_scale = y.scale, o.out_zero = y.zero;
  o.lowest = y.lowest, o.highest = y.highest;
}

/// Of a function that looks at `window` elements for each of a tile. Lanes are 8 bits wide: the
/// widest operand says how many an element takes.
inline double element_cycles(const FormNode& n, const Machine& m, const VectorFunction& f,
                             const Tiling& t, std::int64_t window = 1) {
  std::int64_t lanes = std::max(n.element_bytes(n.data()), n.element_bytes(n.result()));
  if (n.spec.other >= 0) lanes = std::max(lanes, n.element_bytes(n.input(n.spec.other)));
  return vector_cycles(m, f, static_cast<std::uint64_t>(t.rows * t.columns * t.channels * lanes),
                       static_cast<std::uint64_t>(window));
}

/// Where codes of one type come out of codes of another, the instruction has no form.
inline void same_codes(const FormNode& n, Reasons& out) {
  const Value &x = n.graph[n.data()], &y = n.graph[n.result()];
  if (x.type.dtype != y.type.dtype)
    out.value(str("the element type of '", y.name, "'"), name(y.type.dtype),
              str(name(x.type.dtype), " as that of '", x.name, "'"));
}

}  // namespace longshore::forms
