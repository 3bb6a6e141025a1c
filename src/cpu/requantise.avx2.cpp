#include "cpu/kernel.hpp"
#include "cpu/requantise_body.inner.hpp"

namespace longshore::inners {

extern constinit const cpu::Inner inner_requantise_avx2 = {"requantise", cpu::Isa::avx2,
                                                           &cpu::requantise_functions};

}  // namespace longshore::inners
