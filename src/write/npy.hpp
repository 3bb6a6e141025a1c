#pragma once
#include <string>

#include "tensor/tensor.hpp"

namespace longshore {

/// Writes a tensor as a .npy file (version 1, C order), whole or not at all. NumPy has no types for
/// bfloat16 and 8- and 4-bit floats, which become float32, nor for integers below 8 bits, which
/// become int8 or uint8. Throws Error.
void write_npy(const std::string& path, const Tensor&);

}  // namespace longshore
