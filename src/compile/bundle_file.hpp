// Files that are compiled already.
#pragma once
#include <optional>
#include <string>

#include "program/bundle.hpp"
#include "run/context.hpp"

namespace longshore::compile {

struct BundleFile {
  Bundle bundle;
  Program program;
};

/// Nothing where the file is no bundle; throws where it is a damaged one or cannot be read.
std::optional<BundleFile> open_bundle(const std::string& path);

/// A bundle, or any other model compiled for this machine, ready to run. Dims that are open are
/// closed by each run.
Model load(const std::string& path);

/// With all operators; throws, naming `path`.
Model load(Program, const std::string& path, LoadOptions options = {});

}  // namespace longshore::compile
