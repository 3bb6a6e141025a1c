#include "forms/support/move_map.hpp"

#include <algorithm>

namespace longshore::forms {

std::optional<MoveMap> move_map(const Graph& g, const Node& n, const FormSpec& spec,
                                std::size_t output) {
  const auto walked = static_cast<std::size_t>(spec.data);
  const Value &source_value = g[n.input(walked)], &result = g[n.outputs[output]];
  const Shape from = *source_value.type.shape();
  const auto source_position = [&](std::int64_t number) {
    return nhwc_position(source_value.order, from, number - 1);
  };
  const Tensor out = trace(g, n, walked)[output];
  if (out.elements() == 0) return {};
  const std::span<const std::int32_t> source = out.values<std::int32_t>();
  MoveMap map;
  map.start = source_position(source[0]);
  const Shape strides = strides_of(out.shape);
  std::array<std::int64_t, 4> dense{};  // output NHWC axis -> stride in the output
  std::array<std::int64_t, 4> size = {1, 1, 1, 1};
  for (int i = 0; i < out.shape.rank; i++) {
    const auto axis = static_cast<std::size_t>(nhwc_axis(result.order, out.shape.rank, i));
    dense[axis] = strides[i];
    size[axis] = out.shape[i];
  }
  for (std::size_t a = 0; a < 4; a++) {
    map.axis[a] = static_cast<int>(a);
    if (size[a] < 2) continue;
    const std::array<std::int64_t, 4> next =
        source_position(source[static_cast<std::size_t>(dense[a])]);
    for (std::size_t k = 0; k < 4; k++)
      if (next[k] != map.start[k])
        map.axis[a] = static_cast<int>(k), map.step[a] = next[k] - map.start[k];
    if (map.step[a] < 0) return {};
  }
  for (std::size_t i = 0; i < source.size(); i++) {
    const std::array<std::int64_t, 4> p =
        nhwc_position(result.order, out.shape, static_cast<std::int64_t>(i));
    std::array<std::int64_t, 4> want = map.start;
    for (std::size_t a = 0; a < 4; a++)
      want[static_cast<std::size_t>(map.axis[a])] += p[a] * map.step[a];
    if (source_position(source[i]) != want) return {};
  }
  return map;
}

std::optional<MoveMap> inverse(const MoveMap& map, const Extent& from, const Extent& to) {
  const std::array<std::int64_t, 4> have = {from.n, from.h, from.w, from.c},
                                    want = {to.n, to.h, to.w, to.c};
  MoveMap out{.step = {1, 1, 1, 1}, .axis = {-1, -1, -1, -1}};
  std::array<bool, 4> taken{};
  for (std::size_t a = 0; a < 4; a++) {
    const auto k = static_cast<std::size_t>(map.axis[a]);
    if (map.start[a] != 0) return {};
    if (want[a] < 2) continue;
    if (map.step[a] != 1 || have[k] != want[a] || out.axis[k] >= 0) return {};
    out.axis[k] = static_cast<int>(a);
    taken[a] = true;
  }
  for (std::size_t k = 0; k < 4; k++) {  // axes of one element
    if (out.axis[k] >= 0) continue;
    if (have[k] != 1) return {};
    const auto a = static_cast<std::size_t>(std::ranges::find(taken, false) - taken.begin());
    out.axis[k] = static_cast<int>(a);
    taken[a] = true;
  }
  return out;
}

}  // namespace longshore::forms
