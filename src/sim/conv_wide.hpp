#pragma once
#include "program/instructions/conv.hpp"
#include "sim/execution.hpp"

namespace longshore {

/// A convolution of 16-bit codes, with sums of 64 bits. After `check`.
Status execute_wide(const Conv&, Execution&);

}  // namespace longshore
