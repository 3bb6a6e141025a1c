// What instructions of the vector unit have in common: extents, codes and cycles of the elements of
// a tile.
#pragma once
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

/// Of a function that looks at `window` elements for each of a tile.
inline double element_cycles(const Machine& m, const VectorFunction& f, const Tiling& t,
                             std::int64_t window = 1) {
  return vector_cycles(m, f, static_cast<std::uint64_t>(t.rows * t.columns * t.channels),
                       static_cast<std::uint64_t>(window));
}

}  // namespace longshore::forms
