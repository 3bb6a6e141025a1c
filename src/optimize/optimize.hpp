#pragma once
#include <functional>
#include <string>

#include "ir/pass.hpp"

namespace longshore {

namespace passes {
std::span<const Pass* const> all();  // generated, src/optimize/passes/*.cpp
/// "fuse_conv_activation": the file's name, beside its pass in `all()`.
std::span<const std::string_view> names();
}  // namespace passes

struct OptimizeOptions {
  bool fuse = true;  // false: only Stage::simplify
  /// Called after each pass that changed the graph.
  std::function<void(std::string_view pass, const Graph&)> observe;
  unsigned order_seed = 0;  // not 0: passes in random order, for tests
};

/// Runs all passes until nothing changes. The meaning stays; floats may round differently.
Graph optimize(const Graph&, const OptimizeOptions& options = {});

/// For a graph that went through `optimize` before all its dims were known: what follows from them
/// now. Weights stay the ones they are.
Graph optimize_special(const Graph&);

}  // namespace longshore
