#pragma once
#include <optional>

#include "forms/form.hpp"

namespace longshore::forms {

/// How a Slice, Split, Transpose or the like reads its input: position p, in NHWC order, is input
/// position start + sum of p[i] * step[i] along input axis axis[i].
struct MoveMap {
  std::array<std::int64_t, 4> start{}, step{};
  std::array<int, 4> axis{};
  bool operator==(const MoveMap&) const = default;
};

/// The map of an output of a node that takes elements of its walked input; nothing where no strides
/// describe it. Types are known, other inputs constant.
std::optional<MoveMap> move_map(const Graph&, const Node&, const FormSpec&, std::size_t output);

/// The other way round, of a map that reads every element of `from` once: a Transpose. Nothing
/// else.
std::optional<MoveMap> inverse(const MoveMap&, const Extent& from, const Extent& to);

}  // namespace longshore::forms
