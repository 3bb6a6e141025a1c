#include "cpu/depthwise_i8_body.inner.hpp"
#include "cpu/kernel.hpp"

namespace longshore::inners {

extern constinit const cpu::Inner inner_depthwise_i8_avx512 = {"depthwise_i8", cpu::Isa::avx512,
                                                               &cpu::depthwise_i8};

}  // namespace longshore::inners
