#include "plan/stages.hpp"

#include <algorithm>
#include <numeric>

#include "base/error.hpp"

namespace longshore::plan {
namespace {

/// Position in the row-major tensor of these dims as n, h, w, c.
std::array<std::int64_t, 4> nhwc_position(const Shape& s, std::int64_t at) {
  std::array<std::int64_t, 4> p{};
  const int places[5][4] = {{}, {3}, {0, 3}, {0, 3, 2}, {0, 3, 1, 2}};
  for (int i = s.rank; i-- > 0;) {
    p[static_cast<std::size_t>(places[s.rank][i])] = at % s[i];
    at /= s[i];
  }
  return p;
}

/// Runs the node on an input whose elements are `values`, its constants as they are but for
/// input `replaced`.
std::vector<Tensor> trace(const Graph& g, const Node& n, Tensor values, std::size_t replaced = 0,
                          const Tensor& other = {}) {
  Graph small;
  Node copy = n;
  copy.inputs[0] = small.add_input("x", TensorType(values.dtype, values.shape));
  for (std::size_t i = 1; i < n.inputs.size(); i++)
    if (n.inputs[i] != no_value)
      copy.inputs[i] = small.add_constant({}, i == replaced ? other : *g.constant(n.inputs[i]));
  for (ValueId& v : copy.outputs) v = small.add_value({}, {});
  small.outputs = copy.outputs;
  const std::size_t count = copy.outputs.size();
  small.add_node(std::move(copy), count);
  return evaluate(small, std::vector<Tensor>{std::move(values)});
}

Tensor numbered(const Shape& shape) {
  std::vector<std::int32_t> all(static_cast<std::size_t>(shape.elements()));
  std::iota(all.begin(), all.end(), 0);
  return make_tensor<std::int32_t>(DType::i32, shape, all);
}

}  // namespace

Reach reach_of(Span out, std::int64_t size, std::int64_t kernel, std::int64_t stride,
               std::int64_t dilation, std::int64_t pad) {
  const std::int64_t from = out.from * stride - pad;
  const std::int64_t to = (out.to - 1) * stride - pad + (kernel - 1) * dilation + 1;
  Reach r;
  r.in = {std::clamp<std::int64_t>(from, 0, size - 1), std::clamp<std::int64_t>(to, 1, size)};
  r.before = r.in.from - from;
  r.after = std::max<std::int64_t>(0, to - r.in.to);
  return r;
}

Reach input_reach(const Layer& l, Span out, bool columns) {
  const Window& w = l.window;
  const Form form = l.stages.front().form;
  if (form == Form::mac || form == Form::depthwise || form == Form::pool)
    return columns ? reach_of(out, l.in.w, w.kernel_w, w.stride_w, w.dilation_w, w.pad_left)
                   : reach_of(out, l.in.h, w.kernel_h, w.stride_h, w.dilation_h, w.pad_top);
  if (form == Form::resize) {
    const std::vector<std::int64_t>& map = columns ? l.resize.columns : l.resize.rows;
    const auto [low, high] = std::minmax_element(map.begin() + out.from, map.begin() + out.to);
    return {{*low, *high + 1}};
  }
  const std::int64_t start = l.pad[columns ? 2 : 1], size = columns ? l.in.w : l.in.h;
  const Span in = {std::clamp<std::int64_t>(out.from - start, 0, size),
                   std::clamp<std::int64_t>(out.to - start, 0, size)};
  return {in, std::max<std::int64_t>(0, start - out.from), 0};
}

std::int64_t sram_alignment(const Machine& m) {
  return std::lcm(std::lcm<std::int64_t, std::int64_t>(m.mac_alignment, m.vector_alignment),
                  std::int64_t{m.dma_alignment});
}

TileShape tile_shape(const Machine& m, std::int64_t rows, std::int64_t columns,
                     std::int64_t channels) {
  return {rows, columns, channels, round_up(channels, sram_alignment(m))};
}

Window window_of(const Graph& g, const Node& n) {
  Window w;
  const Facts facts = node_facts(g, n);
  const auto take = [&](std::string_view key, std::int64_t& to) {
    if (const auto at = facts.find(key); at != facts.end()) to = at->second;
  };
  take("kernel_h", w.kernel_h), take("kernel_w", w.kernel_w);
  take("stride_h", w.stride_h), take("stride_w", w.stride_w);
  take("dilation_h", w.dilation_h), take("dilation_w", w.dilation_w);
  take("pad_top", w.pad_top), take("pad_left", w.pad_left);
  take("pad_bottom", w.pad_bottom), take("pad_right", w.pad_right);
  return w;
}

ResizeMap resize_map(const Graph& g, const Node& n) {
  const Extent in = *extent_of(g[n.input(0)].type);
  Graph copy = g;
  for (std::size_t i = 1; i < n.inputs.size(); i++) {  // sizes name batch and channels: 1 each here
    const Tensor* t = g.constant(n.input(i));
    if (!t || t->dtype != DType::i64 || t->elements() != 4) continue;
    std::vector<std::int64_t> sizes(t->values<std::int64_t>().begin(),
                                    t->values<std::int64_t>().end());
    sizes[0] = sizes[1] = 1;
    copy[n.input(i)].constant = make_ints(sizes);
  }
  const Tensor out = trace(copy, n, numbered(Shape{1, 1, in.h, in.w}))[0];
  const std::int64_t height = out.shape[2], width = out.shape[3];
  ResizeMap map;
  for (std::int64_t y = 0; y < height; y++)
    map.rows.push_back(out.values<std::int32_t>()[static_cast<std::size_t>(y * width)] / in.w);
  for (std::int64_t x = 0; x < width; x++)
    map.columns.push_back(out.values<std::int32_t>()[static_cast<std::size_t>(x)] % in.w);
  for (std::int64_t y = 0; y < height; y++)
    for (std::int64_t x = 0; x < width; x++)
      check(out.values<std::int32_t>()[static_cast<std::size_t>(y * width + x)] ==
                map.rows[static_cast<std::size_t>(y)] * in.w +
                    map.columns[static_cast<std::size_t>(x)],
            "a nearest-neighbour Resize that is not separable");
  return map;
}

std::optional<MoveMap> move_map(const Graph& g, const Node& n, std::size_t output) {
  const Shape from = *g[n.input(0)].type.shape();
  const Tensor out = trace(g, n, numbered(from))[output];
  if (out.elements() == 0) return {};
  const std::span<const std::int32_t> source = out.values<std::int32_t>();
  MoveMap map;
  map.start = nhwc_position(from, source[0]);
  const Shape strides = strides_of(out.shape);
  std::array<std::int64_t, 4> dense{};  // output NHWC axis -> stride in the output
  std::array<std::int64_t, 4> size = {1, 1, 1, 1};
  for (int i = 0; i < out.shape.rank; i++) {
    Shape one;
    for (int k = 0; k < out.shape.rank; k++) one.push(k == i ? 2 : 1);
    const std::array<std::int64_t, 4> at = nhwc_position(one, 1);  // which NHWC axis this is
    const auto axis = static_cast<std::size_t>(std::ranges::find(at, 1) - at.begin());
    dense[axis] = strides[i];
    size[axis] = out.shape[i];
  }
  for (std::size_t a = 0; a < 4; a++) {
    map.axis[a] = static_cast<int>(a);
    if (size[a] < 2) continue;
    const std::array<std::int64_t, 4> next =
        nhwc_position(from, source[static_cast<std::size_t>(dense[a])]);
    for (std::size_t k = 0; k < 4; k++)
      if (next[k] != map.start[k])
        map.axis[a] = static_cast<int>(k), map.step[a] = next[k] - map.start[k];
    if (map.step[a] < 0) return {};
  }
  for (std::size_t i = 0; i < source.size(); i++) {
    const std::array<std::int64_t, 4> p = nhwc_position(out.shape, static_cast<std::int64_t>(i));
    std::array<std::int64_t, 4> want = map.start;
    for (std::size_t a = 0; a < 4; a++)
      want[static_cast<std::size_t>(map.axis[a])] += p[a] * map.step[a];
    if (nhwc_position(from, source[i]) != want) return {};
  }
  return map;
}

std::array<std::int64_t, 4> pad_start(const Graph& g, const Node& n) {
  const Shape from = *g[n.input(0)].type.shape();
  const std::int32_t outside = -1;
  Graph copy = g;
  Node node = n;
  node.inputs.resize(std::max<std::size_t>(node.inputs.size(), 3), no_value);
  node.inputs[2] =
      copy.add_constant({}, make_tensor<std::int32_t>(DType::i32, {}, std::span(&outside, 1)));
  const Tensor out = trace(copy, node, numbered(from))[0];
  const std::span<const std::int32_t> all = out.values<std::int32_t>();
  const auto first = std::ranges::find(all, 0);
  check(first != all.end(), "a Pad that drops the first element");
  return nhwc_position(out.shape, first - all.begin());
}

std::array<std::int64_t, 4> part_start(const Graph& g, const Layer& l) {
  const Node& n = g.nodes[l.last()];
  std::array<std::int64_t, 4> at{};
  const auto axis = static_cast<std::size_t>(nhwc_axis(g, n, n.attributes.integer("axis")));
  for (int k = 0; k < l.piece; k++) {
    const Extent e = *extent_of(g[n.inputs[static_cast<std::size_t>(k)]].type);
    at[axis] += std::array{e.n, e.h, e.w, e.c}[axis];
  }
  return at;
}

int nhwc_axis(const Graph& g, const Node& n, std::int64_t axis) {
  const int rank = g[n.output()].type.rank();
  const int places[5][4] = {{}, {3}, {0, 3}, {0, 3, 2}, {0, 3, 1, 2}};
  return places[rank][resolve_axis(axis, rank)];
}

}  // namespace longshore::plan
