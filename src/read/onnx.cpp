// ONNX: bytes -> protobuf messages -> Graph. onnx_wire checks sizes, onnx_order operators and
// order, onnx_import builds the graph, onnx_tensor and onnx_attribute read what nodes hold.
#include <filesystem>

#include "base/error.hpp"
#include "base/file.hpp"
#include "read/fixed_batch.hpp"
#include "read/onnx_graph.hpp"
#include "read/onnx_wire.hpp"

namespace longshore {
namespace {

constexpr int newest_opset = 27, newest_ir = 13, oldest_ir = 3;

ReadResult import(std::span<const std::byte> bytes, const std::string& folder,
                  const ReadOptions& options) {
  onnx::ModelProto model;
  if (bytes.size() > options.limits.file_bytes)
    fail(Code::exhausted, "it has ", bytes.size(), " bytes, the limit is ",
         options.limits.file_bytes, "; save it with its weights as external data");
  if (!model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    fail(Code::bad_model, "not an ONNX file, or a damaged one: protobuf cannot parse it");
  if (!model.has_ir_version() || !model.has_graph())
    fail(Code::bad_model, "not an ONNX file: it holds no graph");
  onnx::Source source{options, ExternalData(folder), {}};
  if (model.ir_version() < oldest_ir)
    fail(Code::unsupported, "its IR version is ", model.ir_version(), "; ", oldest_ir,
         " is the oldest that can be read");
  if (model.ir_version() > newest_ir)
    source.warnings.push_back(str("its IR version is ", model.ir_version(), ", newer than ",
                                  newest_ir, "; what is new in it is not understood"));
  const onnx::Opsets opsets = onnx::read_opsets(model.opset_import());
  ReadResult result;
  if (const auto main = opsets.find(""); main != opsets.end()) {
    result.opset = main->second;
    if (main->second > newest_opset)
      source.warnings.push_back(str("its opset is ", main->second, ", newer than ", newest_opset,
                                    "; operators are taken to mean what they meant then"));
  }
  onnx::Functions functions;
  for (onnx::FunctionProto& f : *model.mutable_functions())
    if (!functions.emplace(onnx::function_key(f.domain(), f.name(), f.overload()), &f).second)
      fail(Code::bad_model, "there are two functions '", f.name(), "' of domain '", f.domain(),
           "'");
  onnx::check_operators(model, functions, options.limits);

  result.producer = model.producer_name();
  if (!model.producer_version().empty()) result.producer += " " + model.producer_version();
  for (const onnx::StringPair& pair : model.metadata_props())
    result.metadata[pair.key()] = pair.value();
  result.graph = tidy(infer(onnx::Importer(model, source, opsets, functions).run(result)));
  for (std::string& w : fixed_batch(result.graph)) source.warnings.push_back(std::move(w));
  result.warnings = std::move(source.warnings);
  return result;
}

}  // namespace

ReadResult read_onnx(std::span<const std::byte> bytes, const std::string& name,
                     const std::string& folder, const ReadOptions& options) {
  onnx::check_wire(bytes, name, options.limits);
  try {
    return import(bytes, folder, options);
  } catch (const Error& e) {
    fail(e.code(), name, ": ", e.what());
  } catch (const std::bad_alloc&) {
    fail(Code::exhausted, name, ": out of memory while reading");
  }
}

ReadResult read_onnx(const std::string& path, const ReadOptions& options) {
  const Result<SharedBlob> file = read_file(path, options.limits.file_bytes);
  require(file.status());
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  return read_onnx((*file)->bytes(), path, folder.empty() ? "." : folder.string(), options);
}

Tensor read_tensor_proto(std::span<const std::byte> bytes, const std::string& name) {
  const ReadOptions options;
  onnx::check_tensor_wire(bytes, name, options.limits);
  onnx::TensorProto t;
  if (bytes.size() > options.limits.file_bytes ||
      !t.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    fail(Code::bad_model, name, ": not a TensorProto");
  onnx::Source source{options, ExternalData(""), {}};
  return onnx::tensor(t, source, name, true);
}

}  // namespace longshore
