#pragma once
#include <string>

#include "tensor/tensor.hpp"

namespace longshore {

struct Tolerance {
  double rtol = 1e-3, atol = 1e-7;
};

/// Empty if `got` is right: same type and dims, integers and booleans equal, floats within
/// atol + rtol * |want|, NaN equal to NaN, infinities equal. Otherwise what differs.
std::string difference(const Tensor& got, const Tensor& want, const Tolerance&);

}  // namespace longshore
