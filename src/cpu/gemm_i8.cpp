#include "cpu/gemm_i8_body.inner.hpp"
#include "cpu/kernel.hpp"

namespace longshore::inners {

extern constinit const cpu::Inner inner_gemm_i8 = {"gemm_i8", cpu::Isa::generic, &cpu::gemm_i8};

}  // namespace longshore::inners
