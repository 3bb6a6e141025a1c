#pragma once
#include <memory>

#include "cpu/bind.hpp"
#include "run/operator.hpp"

namespace longshore {

/// A step that maps 8-bit codes one by one, as 256 entries that the operator itself computes; null
/// where the operands are others, or the operator reports an error.
std::unique_ptr<cpu::BoundKernel> bind_table(const Operator&, const cpu::BindRequest&);

}  // namespace longshore
