#include "cpu/eltwise_f32_body.inner.hpp"
#include "cpu/kernel.hpp"

namespace longshore::inners {

extern constinit const cpu::Inner inner_eltwise_f32_avx2 = {"eltwise_f32", cpu::Isa::avx2,
                                                            &cpu::eltwise_f32};

}  // namespace longshore::inners
