#include <algorithm>
#include <filesystem>

#include "base/error.hpp"
#include "base/file.hpp"
#include "program/bundle.hpp"
#include "read/read.hpp"

namespace longshore {
namespace {

std::string_view characters(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Text begins with printable characters; every ONNX file with a byte below 32 or above 127, the
/// tag of one of its fields, within the first few.
bool is_text(std::span<const std::byte> bytes) {
  return !bytes.empty() && std::ranges::all_of(characters(bytes).substr(0, 64), [](char c) {
    return (c >= 32 && c < 127) || c == '\n' || c == '\r' || c == '\t' ||
           static_cast<signed char>(c) < 0;
  }) && static_cast<signed char>(characters(bytes)[0]) > 0;
}
bool is_npy(std::span<const std::byte> bytes) { return characters(bytes).starts_with("\x93NUMPY"); }

/// What the file surely is if it is no model.
const char* known_other(std::span<const std::byte> bytes) {
  const std::string_view c = characters(bytes);
  if (is_npy(bytes)) return "a NumPy array";
  if (c.starts_with("\x89PNG") || c.starts_with("\xff\xd8\xff")) return "an image";
  if (c.size() > 8 && c.substr(4, 4) == "TFL3")
    return "a TensorFlow Lite model, which is not read yet";
  if (c.starts_with("PK\x03\x04"))
    return "a zip archive (a PyTorch file?); export the model to ONNX first";
  if (c.starts_with("\x7f"
                    "ELF"))
    return "a program";
  return nullptr;
}

SharedBlob bytes_of(const std::string& path, const ReadLimits& limits) {
  const Result<SharedBlob> file = read_file(path, limits.file_bytes);
  require(file.status());
  if ((*file)->size() == 0) fail(Code::bad_model, path, ": the file is empty");
  return *file;
}

}  // namespace

ReadResult read_model(const std::string& path, const ReadOptions& options) {
  const SharedBlob file = bytes_of(path, options.limits);
  if (const char* other = known_other(file->bytes()))
    fail(Code::bad_model, path, ": a model expected, this is ", other);
  if (is_bundle(file->bytes())) return read_bundle_graph(file, path);
  if (is_text(file->bytes())) return read_text(path, options);
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  return read_onnx(file->bytes(), path, folder.empty() ? "." : folder.string(), options);
}

Tensor read_tensor(const std::string& path) {
  const SharedBlob file = bytes_of(path, {});
  return is_npy(file->bytes()) ? read_npy(file, path) : read_tensor_proto(file->bytes(), path);
}

}  // namespace longshore
