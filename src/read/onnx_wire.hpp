#pragma once
#include <cstddef>
#include <span>
#include <string>

#include "read/read.hpp"

namespace longshore::onnx {

/// Walks the protobuf structure of a model without allocating. Throws where a length leaves its
/// record or a limit is reached, naming the byte: protobuf itself would only say "no".
void check_wire(std::span<const std::byte> model, const std::string& file, const ReadLimits&);

/// The same for a lone TensorProto.
void check_tensor_wire(std::span<const std::byte> tensor, const std::string& file,
                       const ReadLimits&);

}  // namespace longshore::onnx
