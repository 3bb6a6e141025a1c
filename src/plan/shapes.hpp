#pragma once
#include "plan/plan.hpp"

namespace longshore::plan {

constexpr std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
constexpr std::int64_t round_up(std::int64_t a, std::int64_t b) { return divide_up(a, b) * b; }

/// A range of rows or columns.
struct Span {
  std::int64_t from = 0, to = 0;
  std::int64_t size() const { return to - from; }
  bool operator==(const Span&) const = default;
};

/// The input rows (or columns) that outputs [from, to) look at, cut to [0, size); `before` and
/// `after` are how far the windows reach beyond.
struct Reach {
  Span in;
  std::int64_t before = 0, after = 0;
};
Reach reach_of(Span out, std::int64_t size, std::int64_t kernel, std::int64_t stride,
               std::int64_t dilation, std::int64_t pad);

/// The same for a layer's head, whatever its form; false: rows, true: columns. A span that lies in
/// the padding of a Pad gives an empty `in`.
Reach input_reach(const Layer&, Span out, bool columns);

/// Bytes and strides of a tile in SRAM.
struct TileShape {
  std::int64_t rows = 1, columns = 1, channels = 1, pixel_stride = 1;
  std::int64_t row_stride() const { return columns * pixel_stride; }
  std::int64_t bytes() const { return rows * row_stride(); }
};
/// Alignment of slots and pixel strides in SRAM.
std::int64_t sram_alignment(const Machine&);
TileShape tile_shape(const Machine&, std::int64_t rows, std::int64_t columns,
                     std::int64_t channels);

/// The window of a node (1 x 1 for what has none), from its facts.
Window window_of(const Graph&, const Node&);
/// The nearest-neighbour source rows and columns of a Resize.
ResizeMap resize_map(const Graph&, const Node&);
/// How a Slice, Split, Transpose or the like reads its input: output position p, in NHWC order, is
/// input position start + sum of p[i] * step[i] along input axis axis[i].
struct MoveMap {
  std::array<std::int64_t, 4> start{}, step{};
  std::array<int, 4> axis{};
};
/// Found by running the reference on numbered elements; nothing where it is not of that kind.
std::optional<MoveMap> move_map(const Graph&, const Node&, std::size_t output);
/// Where a Pad puts its input, in NHWC order.
std::array<std::int64_t, 4> pad_start(const Graph&, const Node&);
/// The axis of a Concat as a position in NHWC order.
int nhwc_axis(const Graph&, const Node&, std::int64_t axis);

}  // namespace longshore::plan
