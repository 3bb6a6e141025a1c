#pragma once
#include <onnx.pb.h>

#include <string>
#include <vector>

#include "ir/type.hpp"
#include "read/external_data.hpp"
#include "read/read.hpp"

namespace longshore::onnx {

/// Where a model comes from, and what was noticed while reading it.
struct Source {
  const ReadOptions& options;
  ExternalData external;
  std::vector<std::string> warnings;
};

/// The tensor in memory form. `take`: large data may be moved out of the message. `what` names the
/// tensor in messages.
Tensor tensor(TensorProto&, Source&, const std::string& what, bool take);
/// A sparse tensor, made dense.
Tensor dense(SparseTensor&, Source&, const std::string& what);
/// The type of a value; refuses all that is not a tensor, saying what it is.
TensorType type(const TypeProto&, const std::string& what);

}  // namespace longshore::onnx
