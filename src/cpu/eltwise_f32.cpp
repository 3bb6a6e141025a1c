#include "cpu/eltwise_f32_body.inner.hpp"
#include "cpu/kernel.hpp"

namespace longshore::inners {

extern constinit const cpu::Inner inner_eltwise_f32 = {"eltwise_f32", cpu::Isa::generic,
                                                       &cpu::eltwise_f32};

}  // namespace longshore::inners
