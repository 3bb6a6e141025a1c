#include "forms/support/geometry.hpp"

#include <algorithm>
#include <numeric>

namespace longshore::forms {
namespace {

/// Places of the axes of a tensor of each rank in NHWC order.
constexpr int places[2][5][4] = {{{}, {3}, {0, 3}, {0, 3, 2}, {0, 3, 1, 2}},
                                 {{}, {3}, {2, 3}, {0, 2, 3}, {0, 1, 2, 3}}};

std::size_t place(AxisOrder order, int rank, int axis) {
  return static_cast<std::size_t>(places[static_cast<int>(order)][rank][axis]);
}

std::optional<Extent> extent_of(const TensorType& t, AxisOrder order) {
  const std::optional<Shape> s = t.shape();
  if (!s || s->rank > 4) return {};
  std::array<std::int64_t, 4> e = {1, 1, 1, 1};
  for (int i = 0; i < s->rank; i++) e[place(order, s->rank, i)] = (*s)[i];
  return Extent{e[0], e[1], e[2], e[3]};
}

}  // namespace

std::optional<Extent> extent_of(const Value& v) { return extent_of(v.type, v.order); }

Extent aligned_extent(const Graph& g, ValueId v, ValueId output) {
  const Shape from = *g[v].type.shape();
  Shape aligned;
  for (int i = from.rank; i < g[output].type.rank(); i++) aligned.push(1);
  for (std::int64_t d : from) aligned.push(d);
  return *extent_of(TensorType(DType::i8, aligned), g[output].order);
}

std::array<std::int64_t, 4> nhwc_position(AxisOrder order, const Shape& s, std::int64_t at) {
  std::array<std::int64_t, 4> p{};
  for (int i = s.rank; i-- > 0;) {
    p[place(order, s.rank, i)] = at % s[i];
    at /= s[i];
  }
  return p;
}

int nhwc_axis(AxisOrder order, int rank, std::int64_t axis) {
  return static_cast<int>(place(order, rank, resolve_axis(axis, rank)));
}

std::array<std::int64_t, 4> row_major_strides(const Value& v) {
  std::array<std::int64_t, 4> out{};
  const std::optional<Shape> s = v.type.shape();
  if (!s || s->rank > 4) return out;
  const Shape strides = strides_of(*s);
  for (int i = 0; i < s->rank; i++) out[place(v.order, s->rank, i)] = strides[i];
  return out;
}

bool same_walk(const Value& a, const Value& b) {
  const std::optional<Extent> x = extent_of(a), y = extent_of(b);
  if (!x || x != y) return false;
  const auto s = row_major_strides(a), t = row_major_strides(b);
  const std::int64_t size[4] = {x->n, x->h, x->w, x->c};
  for (std::size_t i = 0; i < 4; i++)
    if (size[i] > 1 && s[i] != t[i]) return false;
  return true;
}

bool same_pixels(const Value& a, const Value& b) {
  const std::optional<Extent> x = extent_of(a), y = extent_of(b);
  return x && y && a.order == AxisOrder::channels_first && b.order == AxisOrder::channels_first &&
         a.type.rank() > 2 && b.type.rank() > 2 && x->n == y->n && x->c == y->c &&
         x->h * x->w == y->h * y->w;
}

Reach reach_of(const Window& w, int axis, Span out, std::int64_t size) {
  const std::int64_t from = out.from * w.stride[axis] - w.begin[axis];
  const std::int64_t to = (out.to - 1) * w.stride[axis] - w.begin[axis] + w.reach(axis);
  Reach r;
  r.in = {std::clamp<std::int64_t>(from, 0, size - 1), std::clamp<std::int64_t>(to, 1, size)};
  r.before = r.in.from - from;
  r.after = std::max<std::int64_t>(0, to - r.in.to);
  return r;
}

std::int64_t sram_alignment(const Machine& m) {
  // Sums and the parameters of channels are words of four bytes. Sums of eight have slots of their
  // own, which assign_slots aligns.
  return std::lcm(std::lcm<std::int64_t, std::int64_t>(m.mac_alignment, m.vector_alignment),
                  std::lcm<std::int64_t, std::int64_t>(m.dma_alignment, 4));
}

TileShape tile_shape(const Machine& m, std::int64_t rows, std::int64_t columns,
                     std::int64_t channels, std::int64_t element_bytes) {
  return {rows, columns, channels, round_up(channels * element_bytes, sram_alignment(m))};
}

}  // namespace longshore::forms
