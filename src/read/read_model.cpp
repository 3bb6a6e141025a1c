#include <algorithm>
#include <filesystem>

#include "base/error.hpp"
#include "base/file.hpp"
#include "program/bundle.hpp"
#include "read/file_kind.hpp"
#include "read/image.hpp"
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

/// What to do about a file that is no model.
std::string_view advice(const FileKind& kind) {
  if (kind.sort == FileKind::Sort::model) return "; only ONNX is read: export the model to it";
  if (kind.name.find("zip") != std::string_view::npos) return "; export the model to ONNX first";
  return "";
}

bool ends_with_one_of(std::string_view path, std::initializer_list<std::string_view> endings) {
  return std::ranges::any_of(endings, [&](std::string_view e) {
    return path.size() > e.size() &&
           std::ranges::equal(path.substr(path.size() - e.size()), e, {}, [](char c) {
             return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
           });
  });
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
  const std::optional<FileKind> kind = file_kind(file->bytes());
  if (kind && !is_bundle(file->bytes()))
    fail(Code::bad_model, path, ": a model expected, this is ", kind->name, advice(*kind));
  if (is_bundle(file->bytes())) return read_bundle_graph(file, path);
  if (is_text(file->bytes())) return read_text(path, options);
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  return read_onnx(file->bytes(), path, folder.empty() ? "." : folder.string(), options);
}

Tensor read_tensor(const std::string& path) {
  const SharedBlob file = bytes_of(path, {});
  if (is_npy(file->bytes())) return read_npy(file, path);
  const std::optional<FileKind> kind = file_kind(file->bytes());
  if (kind && kind->sort == FileKind::Sort::picture)
    fail(Code::unsupported, path, ": ", kind->name,
         is_image(file->bytes()) ? " has no place here: .npy or TensorProto .pb expected"
                                 : " is not read; png and jpg are");
  if (kind)
    fail(Code::unsupported, path, ": ", kind->name,
         " is not read; .npy, TensorProto .pb, png and jpg are");
  // Its name says what it should be; what is wrong with it as a TensorProto would say nothing.
  if (ends_with_one_of(path, {".png", ".jpg", ".jpeg"}))
    fail(Code::bad_argument, path, ": damaged: it does not begin as a PNG or JPEG picture does");
  if (ends_with_one_of(path, {".npy"}))
    fail(Code::bad_argument, path, ": damaged: it does not begin as a .npy file does");
  return read_tensor_proto(file->bytes(), path);
}

}  // namespace longshore
