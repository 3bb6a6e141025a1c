#include "cpu/kernel.hpp"
#include "cpu/requantise_body.inner.hpp"

namespace longshore::inners {

extern constinit const cpu::Inner inner_requantise_avx512 = {"requantise", cpu::Isa::avx512,
                                                             &cpu::requantise_functions};

}  // namespace longshore::inners
