#include "cpu/gemm_i8_body.inner.hpp"
#include "cpu/kernel.hpp"

namespace longshore::inners {

extern constinit const cpu::Inner inner_gemm_i8_avx512vnni = {"gemm_i8", cpu::Isa::avx512vnni,
                                                              &cpu::gemm_i8};

}  // namespace longshore::inners
