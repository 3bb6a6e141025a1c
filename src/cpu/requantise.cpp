#include "cpu/kernel.hpp"
#include "cpu/requantise_body.inner.hpp"

namespace longshore::inners {

extern constinit const cpu::Inner inner_requantise = {"requantise", cpu::Isa::generic,
                                                      &cpu::requantise_functions};

}  // namespace longshore::inners
