#include "cpu/kernel.hpp"
#include "cpu/rows_body.inner.hpp"

namespace longshore::inners {

extern constinit const cpu::Inner inner_rows = {"rows", cpu::Isa::generic, &cpu::rows};

}  // namespace longshore::inners
