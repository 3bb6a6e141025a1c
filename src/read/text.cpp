#include "base/error.hpp"
#include "base/file.hpp"
#include "read/read.hpp"

namespace longshore {

ReadResult read_text(const std::string& path, const ReadOptions& options) {
  const Result<SharedBlob> file = read_file(path, options.limits.file_bytes);
  require(file.status());
  const auto bytes = (*file)->bytes();
  ReadResult result;
  try {
    result.graph = parse({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  } catch (const Error& e) {
    fail(e.code(), path, ": ", e.what());
  }
  for (ValueId v : result.graph.inputs) result.declared_inputs.push_back(result.graph[v].name);
  return result;
}

}  // namespace longshore
