#include "cpu/depthwise_f32_body.inner.hpp"
#include "cpu/kernel.hpp"

namespace longshore::inners {

extern constinit const cpu::Inner inner_depthwise_f32_avx2 = {"depthwise_f32", cpu::Isa::avx2,
                                                              &cpu::depthwise_f32};

}  // namespace longshore::inners
