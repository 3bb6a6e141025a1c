#include "program/bundle.hpp"

#include "base/error.hpp"
#include "base/file.hpp"
#include "ir/codec.hpp"
#include "read/read.hpp"

namespace longshore {

ReadResult read_bundle_graph(const std::string& path) {
  const Result<SharedBlob> file = read_file(path);
  require(file.status());
  return read_bundle_graph(*file, path);
}

ReadResult read_bundle_graph(const SharedBlob& file, const std::string& path) {
  const Result<Bundle> bundle = Bundle::open(file);
  require(bundle.status(), path);
  ReadResult result;
  try {
    result.graph = decode_graph(bundle->section(Section::graph), bundle->constants());
    if (const std::string_view text = bundle->text(Section::pictures); !text.empty())
      result.pictures = parse_image_options(text);
  } catch (const Error& e) {
    fail(e.code(), path, ": ", e.what());
  }
  for (ValueId v : result.graph.inputs) result.declared_inputs.push_back(result.graph[v].name);
  return result;
}

}  // namespace longshore
