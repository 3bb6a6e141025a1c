#pragma once
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "ir/graph.hpp"

namespace longshore {

struct OnnxOptions {
  /// That the model was read with: what newer opsets brought stays known. The file has at least 21,
  /// the first with 16-bit codes, and as much as its operators need.
  int opset = 0;
  bool unsigned_bytes = false;  // activations as u8 instead of i8: with_explicit_scales
  std::map<std::string, std::string> metadata;
};

struct OnnxFile {
  std::vector<std::byte> bytes;
  int opset = 0;  // that it has
};

/// An ONNX model that computes what the graph does: in operators of ONNX alone, each of those on
/// codes between DequantizeLinear and QuantizeLinear. Inputs and outputs keep their names and
/// types, dims their symbols. Equal graphs give equal bytes. Throws Error where an operator has no
/// counterpart, naming it, and where the model has 2 GiB or more.
OnnxFile onnx_file(const Graph&, const OnnxOptions& = {});

}  // namespace longshore
