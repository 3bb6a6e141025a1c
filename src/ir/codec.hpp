#pragma once
#include <functional>
#include <span>
#include <vector>

#include "ir/graph.hpp"

namespace longshore {

/// The graph without the bytes of its constants; `place` takes each constant and returns its
/// offset among all. Equal graphs give equal bytes.
std::vector<std::byte> encode(const Graph&,
                              const std::function<std::uint64_t(const Tensor&)>& place);

/// Back again; constants share `constants`. Throws Error where the bytes make no valid graph: they
/// may be hostile.
Graph decode_graph(std::span<const std::byte>, const SharedBlob& constants);

}  // namespace longshore
