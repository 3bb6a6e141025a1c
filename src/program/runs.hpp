// Instructions that walk three loops over runs of bytes: dma, fill, copy.
#pragma once
#include "program/check.hpp"
#include "program/region.hpp"

namespace longshore {

template <class O>
inline constexpr auto run_fields = field_list(LONGSHORE_THREE(O, extent, count),
                                              LONGSHORE_LIMITED(O, extent, run_bytes,
                                                                most_run_bytes));

template <class O, class S>
Region runs_region(Space space, const char* operand, std::uint64_t address, const S (&stride)[3],
                   const O& o) {
  Region r{space, false, operand, address, o.run_bytes};
  for (int i = 0; i < 3; i++) {
    r.count[i] = o.count[i];
    r.stride[i] = stride[i];
  }
  return r;
}

template <class O>
std::uint64_t bytes_of_runs(const O& o) {
  return std::uint64_t{o.count[0]} * o.count[1] * o.count[2] * o.run_bytes;
}

}  // namespace longshore
