#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/limits.hpp"
#include "ir/graph.hpp"
#include "read/image.hpp"

namespace longshore {

/// What a reader accepts before it allocates. The defaults fit every model that we know of.
struct ReadLimits {
  std::size_t file_bytes = (std::size_t{1} << 31) - 1;  // protobuf can address no more
  std::size_t records = std::size_t{1} << 23;           // protobuf fields with a length
  std::size_t nodes = std::size_t{1} << 20;             // after functions are inlined
  std::int64_t elements = std::int64_t{1} << 31;        // of one tensor
  int depth = deepest_nesting;                          // nested subgraphs and function calls
};

struct ReadOptions {
  /// ONNX, IR 4 and newer: an initialiser that is also an input is a default that a caller may
  /// replace. It becomes a constant unless it is named here.
  std::vector<std::string> keep_inputs;
  /// The same for the first so many of the declared inputs.
  std::size_t keep_first_inputs = 0;
  ReadLimits limits;
};

struct ReadResult {
  Graph graph;
  /// One sentence each, for people.
  std::vector<std::string> warnings;
  /// The file's opset of the domain ai.onnx; 0 for other formats.
  int opset = 0;
  std::string producer;
  std::map<std::string, std::string> metadata;
  /// All inputs that the file declares, in its order; the graph has those that are no constants.
  std::vector<std::string> declared_inputs;
  /// Initialisers that are inputs, by name: defaults of kept inputs, values of the others.
  std::map<std::string, Tensor> defaults;
  /// How a bundle wants pictures to be read, where that is not as is usual.
  std::optional<ImageOptions> pictures;
};

/// A model file of any known format, told by its content. Throws Error, naming the file.
ReadResult read_model(const std::string& path, const ReadOptions& options = {});

/// An ONNX file: IR 3 to 13, opset 6 and newer. Functions are inlined, nodes sorted, older opsets
/// rewritten to the newest, external data mapped from the folder of the file.
ReadResult read_onnx(const std::string& path, const ReadOptions& options = {});
/// The same from memory; `name` is for messages, `folder` for external data (empty: none).
ReadResult read_onnx(std::span<const std::byte> bytes, const std::string& name,
                     const std::string& folder, const ReadOptions& options = {});

/// A graph in the text form of docs/text.md.
ReadResult read_text(const std::string& path, const ReadOptions& options = {});

/// The graph that a bundle (.lsb) was compiled from; program/bundle.hpp reads the rest.
ReadResult read_bundle_graph(const std::string& path);
ReadResult read_bundle_graph(const SharedBlob& file, const std::string& path);

/// A tensor file, told by its content: .npy, or ONNX's TensorProto (.pb). Throws Error.
Tensor read_tensor(const std::string& path);
/// NumPy's format, versions 1 to 3, every type that both know (float16 and bool too). Fortran order
/// is transposed. Shares the bytes of `file` where it can.
Tensor read_npy(const SharedBlob& file, const std::string& name);
/// ONNX's TensorProto.
Tensor read_tensor_proto(std::span<const std::byte> bytes, const std::string& name);

}  // namespace longshore
