#include "cpu/kernel.hpp"
#include "cpu/rows_body.inner.hpp"

namespace longshore::inners {

extern constinit const cpu::Inner inner_rows_avx2 = {"rows", cpu::Isa::avx2, &cpu::rows};

}  // namespace longshore::inners
