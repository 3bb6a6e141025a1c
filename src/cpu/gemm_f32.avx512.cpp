#include "cpu/gemm_f32_body.inner.hpp"
#include "cpu/kernel.hpp"

namespace longshore::inners {

extern constinit const cpu::Inner inner_gemm_f32_avx512 = {"gemm_f32", cpu::Isa::avx512,
                                                           &cpu::gemm_f32};

}  // namespace longshore::inners
