#include "cpu/gemm_f32_body.inner.hpp"
#include "cpu/kernel.hpp"

namespace longshore::inners {

extern constinit const cpu::Inner inner_gemm_f32 = {"gemm_f32", cpu::Isa::generic, &cpu::gemm_f32};

}  // namespace longshore::inners
