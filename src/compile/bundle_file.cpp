#include "compile/bundle_file.hpp"

#include "base/error.hpp"
#include "base/file.hpp"
#include "compile/compile.hpp"
#include "measure/runner.hpp"

namespace longshore::compile {

std::optional<BundleFile> open_bundle(const std::string& path) {
  const Result<SharedBlob> file = map_file(path);
  require(file.status());
  if (!is_bundle((*file)->bytes())) return {};
  Result<Bundle> bundle = Bundle::open(*file);
  require(bundle.status(), path);
  Result<Program> program = bundle->program();
  require(program.status(), path);
  return BundleFile{std::move(*bundle), std::move(*program)};
}

Model load(Program program, const std::string& path, LoadOptions options) {
  options.operators = operator_table();
  Result<Model> model = Model::load(std::move(program), options);
  require(model.status(), path);
  return std::move(*model);
}

Model load(const std::string& path) {
  if (std::optional<BundleFile> bundle = open_bundle(path))
    return load(std::move(bundle->program), path);
  Options options;
  options.source.path = path;
  Compiled compiled = compile(options);
  LoadOptions loading;
  loading.specialise = specialise(compiled);
  return load(std::move(compiled.program), path, loading);
}

}  // namespace longshore::compile
