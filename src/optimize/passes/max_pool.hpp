// Shared by the passes that take the windows of a MaxPool apart.
#pragma once
#include <optional>

#include "ir/pass.hpp"

namespace longshore::passes {

/// The window of a MaxPool, by axis.
struct PoolWindow {
  Ints kernel, strides, dilations, begin, end;
  std::size_t axes() const { return kernel.size(); }
};

/// Of a MaxPool without Indices whose border does not depend on the size of its input; nothing of
/// any other node.
inline std::optional<PoolWindow> max_pool_window(const Node& n) {
  if (!Match::is(n, "MaxPool") || n.output(1) != no_value) return {};
  const auto list = [&](std::string_view name, std::size_t size, std::int64_t usual) {
    const auto given = n.attributes.integers(name);
    return given.empty() ? Ints(size, usual) : Ints(given.begin(), given.end());
  };
  PoolWindow p;
  p.kernel = list("kernel_shape", 0, 1);
  const std::size_t axes = p.axes();
  p.strides = list("strides", axes, 1);
  p.dilations = list("dilations", axes, 1);
  const Ints pads = list("pads", 2 * axes, 0);
  if (p.strides.size() != axes || p.dilations.size() != axes || pads.size() != 2 * axes ||
      n.attributes.integer("ceil_mode", 0) != 0)
    return {};
  p.begin.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(axes));
  p.end.assign(pads.begin() + static_cast<std::ptrdiff_t>(axes), pads.end());
  const std::string_view automatic = n.attributes.text("auto_pad", "NOTSET");
  for (std::size_t a = 0; a < axes; a++) {
    if (p.kernel[a] < 1 || p.kernel[a] > 1000 || p.strides[a] < 1 || p.strides[a] > 1000 ||
        p.dilations[a] < 1 || p.dilations[a] > 1000 || p.begin[a] < 0 || p.end[a] < 0)
      return {};
    if (automatic == "NOTSET") continue;
    const std::int64_t all = automatic == "VALID" ? 0 : (p.kernel[a] - 1) * p.dilations[a];
    if (automatic != "VALID" && p.strides[a] != 1) return {};
    p.begin[a] = automatic == "SAME_LOWER" ? all - all / 2 : all / 2;
    p.end[a] = all - p.begin[a];
  }
  return p;
}

/// A MaxPool of x by this window.
inline ValueId add_max_pool(Match& m, ValueId x, const PoolWindow& p) {
  Ints pads = p.begin;
  pads.insert(pads.end(), p.end.begin(), p.end.end());
  Attributes attributes;
  attributes.set("kernel_shape", p.kernel);
  attributes.set("strides", p.strides);
  attributes.set("dilations", p.dilations);
  attributes.set("pads", pads);
  return m.add("MaxPool", {x}, std::move(attributes));
}

}  // namespace longshore::passes
